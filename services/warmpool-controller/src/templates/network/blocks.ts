import { parseAddressBits, findCidr, isMappedIPv4, parseAddress } from '@sandlot/std';
import type { Address } from '@sandlot/std';

/**
 * Why `except` of a NetworkPolicy cannot contain this block; undefined when it can. As strict as the strictest API server:
 * a plain address, no host bits, and a prefix that leaves addresses outside.
 */
export function findCidrProblem(cidr: string): string | undefined {
  const [, host = '', digits = ''] = /^([^/%]+)\/(0|[1-9][0-9]{0,2})$/.exec(cidr) ?? [];
  const address = parseAddress(host);
  if (address === undefined) return 'is not a CIDR such as 203.0.113.0/24 or 2001:db8::/32';
  if (isMappedIPv4(address)) return 'is an IPv4 block written as IPv6: write it as IPv4';
  return findPrefixProblem(address, Number(digits));
}

function findPrefixProblem(address: Address, prefix: number): string | undefined {
  const block = findCidr(address, prefix);
  if (block === undefined) return `has a prefix longer than ${parseAddressBits(address)}`;
  if (prefix === 0) return 'is everything: it leaves no address to allow';
  const isWhole = block.address.toString() === address.toString();
  return isWhole ? undefined : `has bits set behind its prefix of ${prefix}`;
}

/** For a block without {@link findCidrProblem}. */
export function isIPv6Block(cidr: string): boolean {
  return cidr.includes(':');
}
