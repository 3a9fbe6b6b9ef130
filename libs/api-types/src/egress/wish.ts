import { containsCidr, EVERY_IPV4, formatCidr, isMappedIPv4, parseCidr } from '@sandlot/std';
import { z } from 'zod';
import { annotations } from '../catalogue/keys.ts';
import { headerRules } from './headers/header-rule.ts';
import type { HeaderRule } from './headers/header-rule.ts';
import { findNamePattern, findReservedProblem } from './names.ts';
import { resolveClaimMode } from '../rules/naming.ts';
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
  /** Names that `allowOut` has beside blocks, normalised. They hold where everything is denied, at the egress proxy. */
  readonly names?: readonly string[] | undefined;
  /** Nothing is refused, and what the list of names does not have is reported. */
  readonly observe?: boolean | undefined;
  /** What the egress proxy does with requests to some hosts. It opens no host: `allowOut` does. */
  readonly rules?: readonly HeaderRule[] | undefined;
}

/** The most entries of one list. */
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
const entry = z.string().transform((text, context) => {
  const [found, name] = [findEgressBlock(text), findNamePattern(text)?.text];
  if (found !== undefined) return { block: found };
  if (name !== undefined) return { name };
  const message = findReservedProblem(text) ?? 'is neither a name, an address nor a block of addresses';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});
const entries = z.array(entry).max(MAX_EGRESS_BLOCKS).default([]);
const wish = z
  .object({
    allowInternetAccess: z.boolean().optional(),
    allowOut: entries,
    denyOut: blocks,
    observe: z.boolean().optional(),
    rules: headerRules.optional(),
  })
  .transform(({ allowOut, ...rest }) => {
    const names = allowOut.flatMap(({ name }) => name ?? []);
    const asked = { ...rest, allowOut: allowOut.flatMap(({ block: found }) => found ?? []) };
    return names.length === 0 ? asked : { ...asked, names };
  });

/**
 * Whether the claim's Sandbox has a NetworkPolicy of its own. Sandboxes of a detached claim use that of their template, and so do
 * those of a claim whose annotation has nothing but `rules`, which deny nothing.
 */
export function hasOwnNetwork(claim: SandboxClaim): boolean {
  const text = findEgressText(claim);
  return text !== undefined && !RULES_ALONE.safeParse(parseJson(text)).success;
}

const RULES_ALONE = z.strictObject({ rules: z.unknown() });

/** The annotation. Sandboxes of a detached claim have none of their own. */
function findEgressText({ metadata, spec }: SandboxClaim): string | undefined {
  return resolveClaimMode(spec) === 'Bound' ? metadata.annotations?.[annotations.network] : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The claim's annotation, parsed. One that cannot be parsed denies everything. Undefined without an annotation. */
export function findEgressWish(claim: SandboxClaim): EgressWish | undefined {
  const text = findEgressText(claim);
  if (text === undefined) return undefined;
  const found = wish.safeParse(parseJson(text)).data ?? NOTHING;
  // Names narrow nothing by themselves: a list of them without a denial is not what its author means.
  return 'names' in found && !isClosedEgress(found) ? NOTHING : found;
}

/** Whether the wish holds at the egress proxy, which a sandbox then needs. */
export function needsEgressProxy({ names = [], observe, rules = [] }: EgressWish): boolean {
  return names.length > 0 || observe === true || rules.length > 0;
}

/** Whether the wish denies every address that it does not allow. Denying all IPv4 denies all IPv6 too. */
export function isClosedEgress({ allowInternetAccess, denyOut }: EgressWish): boolean {
  const coversAll = (text: string): boolean => {
    const cidr = parseCidr(text);
    return cidr !== undefined && containsCidr(cidr, EVERY_IPV4);
  };
  return allowInternetAccess === false || denyOut.some(coversAll);
}

/** The text of the annotation of a new claim. With rules alone its Sandbox keeps the NetworkPolicy of its template. */
export function formatFirstEgressText(asked: EgressWish): string {
  const { allowInternetAccess, allowOut, denyOut, names = [], observe, rules } = asked;
  const isOfRules = allowInternetAccess === undefined && observe === undefined && rules !== undefined;
  return isOfRules && allowOut.length + denyOut.length + names.length === 0
    ? JSON.stringify({ rules })
    : formatEgressText(asked);
}

/** The text of the annotation, also of a claim whose Sandbox may have a NetworkPolicy of its own. */
export function formatEgressText({
  allowInternetAccess,
  allowOut,
  denyOut,
  names = [],
  observe,
  rules,
}: EgressWish): string {
  return JSON.stringify({ allowInternetAccess, allowOut: [...allowOut, ...names], denyOut, observe, rules });
}
