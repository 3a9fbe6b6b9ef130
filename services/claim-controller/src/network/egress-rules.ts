import type { EgressWish } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import { formatCidr, containsCidr, EVERY_IPV4, EVERY_IPV6, parseCidr } from '@sandlot/std';
import type { Cidr } from '@sandlot/std';

type EgressRule = NonNullable<NonNullable<NetworkPolicy['spec']>['egress']>[number];

/** Addresses that a rule allows: a block without its exceptions. */
interface Block {
  readonly cidr: Cidr;
  readonly except: readonly Cidr[];
}

const EVERYTHING = [EVERY_IPV4, EVERY_IPV6];

/**
 * A template's egress rules narrowed by a claim's wish, never wider than the template's. Removes what the wish denies,
 * except what it allows by name. If it denies anything, it also removes peers that are selectors, whose addresses are
 * unknown here.
 */
export function narrowEgress(egress: readonly EgressRule[], wish: EgressWish): EgressRule[] {
  const denied = listDenied(wish);
  if (denied.length === 0) return [...egress];
  const allowed = listCidrs(wish.allowOut);
  return egress.flatMap(({ to, ports }) => {
    const pieces = listBlocks(to).flatMap((block) => [...subtract(block, denied), ...intersect(block, allowed)]);
    if (pieces.length === 0) return [];
    const peers = [...new Map(pieces.map((piece) => [JSON.stringify(buildPeer(piece)), buildPeer(piece)])).values()];
    return [ports === undefined ? { to: peers } : { to: peers, ports }];
  });
}

/** Denying all IPv4 denies all IPv6 too: clients that ask for it do not know about IPv6. */
function listDenied({ allowInternetAccess, denyOut }: EgressWish): readonly Cidr[] {
  const denied = listCidrs(denyOut);
  const isAll = allowInternetAccess === false || denied.some((block) => containsCidr(block, EVERY_IPV4));
  return isAll ? EVERYTHING : denied;
}

function listCidrs(texts: readonly string[]): Cidr[] {
  return texts.map(parseCidr).filter((block) => block !== undefined);
}

/** The peers of a rule that are address blocks; a rule without peers covers all addresses. */
function listBlocks(to: unknown): Block[] {
  if (!Array.isArray(to) || to.length === 0) return EVERYTHING.map((cidr) => ({ cidr, except: [] }));
  return to.flatMap((peer: EgressRule) => {
    const block = peer['ipBlock'] as { cidr?: string; except?: string[] } | undefined;
    const cidr = block?.cidr === undefined ? undefined : parseCidr(block.cidr);
    return cidr === undefined ? [] : [{ cidr, except: listCidrs(block?.except ?? []) }];
  });
}

function subtract({ cidr, except }: Block, denied: readonly Cidr[]): Block[] {
  if (denied.some((block) => containsCidr(block, cidr))) return [];
  return [{ cidr, except: getOutermost([...except, ...denied.filter((block) => containsCidr(cidr, block))]) }];
}

function intersect({ cidr, except }: Block, allowed: readonly Cidr[]): Block[] {
  return allowed.flatMap((block) => {
    const common = containsCidr(cidr, block) ? block : containsCidr(block, cidr) ? cidr : undefined;
    if (common === undefined || except.some((hole) => containsCidr(hole, common))) return [];
    return [{ cidr: common, except: except.filter((hole) => containsCidr(common, hole)) }];
  });
}

/** Removes blocks that lie inside others. */
function getOutermost(blocks: readonly Cidr[]): Cidr[] {
  const [...unique] = new Map(blocks.map((block) => [formatCidr(block), block])).values();
  return unique.filter((block) => !unique.some((other) => other !== block && containsCidr(other, block)));
}

function buildPeer({ cidr, except }: Block): EgressRule {
  const holes = except.map(formatCidr);
  return { ipBlock: { cidr: formatCidr(cidr), ...(holes.length === 0 ? {} : { except: holes }) } };
}
