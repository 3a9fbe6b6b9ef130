import { isDeepStrictEqual } from 'node:util';
import type { NetworkPolicy } from '@sandlot/kube/objects';
import { formatCidr, containsCidr, EVERY_IPV4, EVERY_IPV6 } from '@sandlot/std';
import type { Cidr } from '@sandlot/std';
import type { NetworkPolicyEgressRule } from '../generated/core.ts';
import { listCidrs, listEgressBlocks } from './blocks.ts';
import type { EgressBlock } from './blocks.ts';
import { isClosedEgress, needsEgressProxy } from './wish.ts';
import type { EgressWish } from './wish.ts';

type EgressRule = NonNullable<NonNullable<NetworkPolicy['spec']>['egress']>[number];

/**
 * A template's egress rules narrowed by a wish, never wider than the template's. Removes what the wish denies, except what it
 * allows by address. If it denies anything, it also removes peers that are selectors, whose addresses are unknown here. The
 * rule of the egress proxy stays, unless the wish allows no name and closes the rest: the proxy decides over names, and Pods
 * that are not closed ask its resolver. A wish that is observed narrows nothing.
 */
export function narrowEgress(
  egress: readonly EgressRule[],
  wish: EgressWish,
  proxyRule?: NetworkPolicyEgressRule,
): EgressRule[] {
  const denied = listDenied(wish);
  if (denied.length === 0 || wish.observe === true) return [...egress];
  const allowed = listCidrs(wish.allowOut);
  const needsProxy = !isClosedEgress(wish) || needsEgressProxy(wish);
  return egress.flatMap(({ to, ports }): EgressRule[] => {
    if (needsProxy && proxyRule !== undefined && isDeepStrictEqual(to, proxyRule.to))
      return ports === undefined ? [{ to }] : [{ to, ports }];
    const pieces = listEgressBlocks(to).flatMap((block) => [...subtract(block, denied), ...intersect(block, allowed)]);
    if (pieces.length === 0) return [];
    const peers = [...new Map(pieces.map((piece) => [JSON.stringify(buildPeer(piece)), buildPeer(piece)])).values()];
    return [ports === undefined ? { to: peers } : { to: peers, ports }];
  });
}

function listDenied(wish: EgressWish): readonly Cidr[] {
  return isClosedEgress(wish) ? [EVERY_IPV4, EVERY_IPV6] : listCidrs(wish.denyOut);
}

function subtract({ cidr, except }: EgressBlock, denied: readonly Cidr[]): EgressBlock[] {
  if (denied.some((block) => containsCidr(block, cidr))) return [];
  return [{ cidr, except: getOutermost([...except, ...denied.filter((block) => containsCidr(cidr, block))]) }];
}

function intersect({ cidr, except }: EgressBlock, allowed: readonly Cidr[]): EgressBlock[] {
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

function buildPeer({ cidr, except }: EgressBlock): EgressRule {
  const holes = except.map(formatCidr);
  return { ipBlock: { cidr: formatCidr(cidr), ...(holes.length === 0 ? {} : { except: holes }) } };
}
