import { formatCidr, isMappedIPv4, parseCidr } from '@sandlot/std';
import { z } from 'zod';
import { annotations } from '../catalogue/keys.ts';
import { resolveClaimMode } from './naming.ts';
import type { SandboxClaim } from '../objects.ts';

/**
 * How a claim narrows the egress rules of its template: `denyOut` removes addresses and `allowOut` keeps some of those. Blocks
 * are in the form of {@link findEgressBlock}.
 */
export interface EgressWish {
  /** False: nothing but `allowOut`. */
  readonly allowInternetAccess?: boolean | undefined;
  readonly allowOut: readonly string[];
  readonly denyOut: readonly string[];
}

/** The most blocks of one list. */
export const MAX_EGRESS_BLOCKS = 100;

/** No egress at all: how an annotation that cannot be parsed is read. */
const NOTHING: EgressWish = { allowInternetAccess: false, allowOut: [], denyOut: [] };

/** A block or address in the form of a NetworkPolicy; undefined for anything else, such as a domain. */
export function findEgressBlock(text: string): string | undefined {
  const parsed = parseCidr(text);
  return parsed === undefined || isMappedIPv4(parsed.address) ? undefined : formatCidr(parsed);
}

const block = z.string().transform((text, context) => {
  const found = findEgressBlock(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: 'is neither an address nor a block of them' });
  return z.NEVER;
});
const blocks = z.array(block).max(MAX_EGRESS_BLOCKS).default([]);
const wish = z.object({ allowInternetAccess: z.boolean().optional(), allowOut: blocks, denyOut: blocks });

/** Whether the claim's Sandbox has egress rules of its own. Sandboxes of a detached claim use those of their template. */
export function hasOwnNetwork({ metadata, spec }: SandboxClaim): boolean {
  return metadata.annotations?.[annotations.network] !== undefined && resolveClaimMode(spec) === 'Bound';
}

/** The claim's annotation, parsed. One that cannot be parsed denies everything. Undefined without an annotation. */
export function findEgressWish(claim: SandboxClaim): EgressWish | undefined {
  const text = claim.metadata.annotations?.[annotations.network];
  if (text === undefined || !hasOwnNetwork(claim)) return undefined;
  try {
    return wish.safeParse(JSON.parse(text)).data ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

/** The text of the annotation. */
export function formatEgressText({ allowInternetAccess, allowOut, denyOut }: EgressWish): string {
  return JSON.stringify({ allowInternetAccess, allowOut, denyOut });
}
