import { parseAddress } from '@sandlot/std';
import type { Address } from '@sandlot/std';
import { formatPlainAddress, isWithin } from '../access/address.ts';
import type { Networks } from '../access/address.ts';
import type { Peer } from '../proxy/peer.ts';

/** Longer lists are no work of our proxies: the gateway looks at the last addresses only. */
const MOST_HOPS = 16;

/**
 * Who a request counts for: the client's IPv4 address, or its IPv6 network of 64 bits, of which one host may use every
 * address. Behind trusted proxies it is the last address of X-Forwarded-For that is none of them, because a client may write
 * what stands before it.
 */
export function findSource(peer: Peer, forwardedFor: string | string[] | undefined, trusted: Networks): string {
  if (!peer.isTrusted || forwardedFor === undefined) return formatSource(peer.address);
  const hops = [forwardedFor].flat().join(',').split(',').slice(-MOST_HOPS).reverse();
  let source = peer.address;
  for (const hop of hops) {
    const address = formatPlainAddress(hop.trim());
    if (parseAddress(address) === undefined) break;
    source = address;
    if (!isWithin(trusted, address)) break;
  }
  return formatSource(source);
}

/** The form in which an address is counted. */
export function formatSource(text: string): string {
  const plain = formatPlainAddress(text);
  if (!plain.includes(':')) return plain;
  const [unzoned = ''] = plain.split('%', 1);
  const address = parseAddress(unzoned);
  return address === undefined ? plain : formatNetwork(address);
}

function formatNetwork(address: Address): string {
  const bytes = address.toByteArray().slice(0, 8);
  const groups = [0, 2, 4, 6].map((at) => (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  return `${groups.join(':')}::/64`;
}
