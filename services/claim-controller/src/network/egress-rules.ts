import type { EgressWish } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import { cidrText, containsCidr, EVERY_IPV4, EVERY_IPV6, parseCidr } from '@sandlot/std';
import type { Cidr } from '@sandlot/std';

type EgressRule = NonNullable<NonNullable<NetworkPolicy['spec']>['egress']>[number];

/** Addresses that a rule allows: a block without others. */
interface Block {
  readonly cidr: Cidr;
  readonly except: readonly Cidr[];
}

const EVERYTHING = [EVERY_IPV4, EVERY_IPV6];

/**
 * The part of a template's egress rules that a claim's wish leaves: never more than they allow. What is denied goes, unless
 * it is allowed by name. As soon as anything is denied, peers that are selectors go too: their addresses are not known.
 */
export function narrowed(egress: readonly EgressRule[], wish: EgressWish): EgressRule[] {
  const denied = deniedBy(wish);
  if (denied.length === 0) return [...egress];
  const allowed = cidrsOf(wish.allowOut);
  return egress.flatMap(({ to, ports }) => {
    const pieces = blocksOf(to).flatMap((block) => [...without(block, denied), ...within(block, allowed)]);
    if (pieces.length === 0) return [];
    const peers = [...new Map(pieces.map((piece) => [JSON.stringify(peerOf(piece)), peerOf(piece)])).values()];
    return [ports === undefined ? { to: peers } : { to: peers, ports }];
  });
}

/** All IPv4 means all: who denies that knows of no IPv6. */
function deniedBy({ allowInternetAccess, denyOut }: EgressWish): readonly Cidr[] {
  const denied = cidrsOf(denyOut);
  const isAll = allowInternetAccess === false || denied.some((block) => containsCidr(block, EVERY_IPV4));
  return isAll ? EVERYTHING : denied;
}

function cidrsOf(texts: readonly string[]): Cidr[] {
  return texts.map(parseCidr).filter((block) => block !== undefined);
}

/** Of a rule's peers those that are blocks; a rule without peers is about all addresses. */
function blocksOf(to: unknown): Block[] {
  if (!Array.isArray(to) || to.length === 0) return EVERYTHING.map((cidr) => ({ cidr, except: [] }));
  return to.flatMap((peer: EgressRule) => {
    const block = peer['ipBlock'] as { cidr?: string; except?: string[] } | undefined;
    const cidr = block?.cidr === undefined ? undefined : parseCidr(block.cidr);
    return cidr === undefined ? [] : [{ cidr, except: cidrsOf(block?.except ?? []) }];
  });
}

function without({ cidr, except }: Block, denied: readonly Cidr[]): Block[] {
  if (denied.some((block) => containsCidr(block, cidr))) return [];
  return [{ cidr, except: outermost([...except, ...denied.filter((block) => containsCidr(cidr, block))]) }];
}

function within({ cidr, except }: Block, allowed: readonly Cidr[]): Block[] {
  return allowed.flatMap((block) => {
    const common = containsCidr(cidr, block) ? block : containsCidr(block, cidr) ? cidr : undefined;
    if (common === undefined || except.some((hole) => containsCidr(hole, common))) return [];
    return [{ cidr: common, except: except.filter((hole) => containsCidr(common, hole)) }];
  });
}

/** Without those that others hold. */
function outermost(blocks: readonly Cidr[]): Cidr[] {
  const [...unique] = new Map(blocks.map((block) => [cidrText(block), block])).values();
  return unique.filter((block) => !unique.some((other) => other !== block && containsCidr(other, block)));
}

function peerOf({ cidr, except }: Block): EgressRule {
  const holes = except.map(cidrText);
  return { ipBlock: { cidr: cidrText(cidr), ...(holes.length === 0 ? {} : { except: holes }) } };
}
