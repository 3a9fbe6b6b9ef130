import { cidrText, isMappedIPv4, parseCidr } from '@sandlot/std';
import { z } from 'zod';
import { annotations } from '../catalogue/keys.ts';
import { effectiveClaimMode } from './naming.ts';
import type { SandboxClaim } from '../objects.ts';

/**
 * What a claim asks for beyond its template's egress rules, which it can only narrow: what `denyOut` takes away and
 * `allowOut` gives back. Blocks as {@link egressBlock} writes them.
 */
export interface EgressWish {
  /** False: nothing but `allowOut`. */
  readonly allowInternetAccess?: boolean | undefined;
  readonly allowOut: readonly string[];
  readonly denyOut: readonly string[];
}

/** Blocks of one list. */
export const MAX_EGRESS_BLOCKS = 100;

/** Nothing at all: what a wish that cannot be read is taken for. */
const NOTHING: EgressWish = { allowInternetAccess: false, allowOut: [], denyOut: [] };

/** A block or address as a NetworkPolicy names it; undefined for what none can name, such as a domain. */
export function egressBlock(text: string): string | undefined {
  const parsed = parseCidr(text);
  return parsed === undefined || isMappedIPv4(parsed.address) ? undefined : cidrText(parsed);
}

const block = z.string().transform((text, context) => {
  const found = egressBlock(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: 'is neither an address nor a block of them' });
  return z.NEVER;
});
const blocks = z.array(block).max(MAX_EGRESS_BLOCKS).default([]);
const wish = z.object({ allowInternetAccess: z.boolean().optional(), allowOut: blocks, denyOut: blocks });

/** Whether the claim's Sandbox has egress rules of its own. Sandboxes of a detached claim live by their template's. */
export function hasOwnNetwork({ metadata, spec }: SandboxClaim): boolean {
  return metadata.annotations?.[annotations.network] !== undefined && effectiveClaimMode(spec) === 'Bound';
}

/** What the claim's annotation asks for; everything is denied when it cannot be read. Undefined when it has none. */
export function egressWishOf(claim: SandboxClaim): EgressWish | undefined {
  const text = claim.metadata.annotations?.[annotations.network];
  if (text === undefined || !hasOwnNetwork(claim)) return undefined;
  try {
    return wish.safeParse(JSON.parse(text)).data ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

/** The text of the annotation. */
export function egressText({ allowInternetAccess, allowOut, denyOut }: EgressWish): string {
  return JSON.stringify({ allowInternetAccess, allowOut, denyOut });
}
