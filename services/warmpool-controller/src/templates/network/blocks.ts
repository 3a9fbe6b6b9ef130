import { addressValue } from '@sandlot/std';
import type { Cidr } from '@sandlot/std';

/** The upper 96 bits of an IPv4 address written as IPv6: API servers with strict validation refuse them (API contract, network policy). */
const MAPPED = 0xffffn;

/**
 * Why a NetworkPolicy cannot take this block out of "everything", or undefined when it can. As strict as the strictest
 * API server: a plain address, no bits behind the prefix, and smaller than everything.
 */
export function cidrProblem(cidr: string): string | undefined {
  const [, address = '', digits = ''] = /^([^/%]+)\/(0|[1-9][0-9]{0,2})$/.exec(cidr) ?? [];
  const found = addressValue(address);
  if (found === undefined) return 'is not a CIDR such as 203.0.113.0/24 or 2001:db8::/32';
  const { value, bits } = found;
  if (bits === 128 && value >> 32n === MAPPED) return 'is an IPv4 block written as IPv6: write it as IPv4';
  return blockProblem({ value, prefix: Number(digits), bits });
}

function blockProblem({ value, prefix, bits }: Cidr): string | undefined {
  if (prefix > bits) return `has a prefix longer than ${bits}`;
  if (prefix === 0) return 'is everything: it leaves no address to allow';
  const hostBits = BigInt(bits - prefix);
  return (value >> hostBits) << hostBits === value ? undefined : `has bits set behind its prefix of ${prefix}`;
}

/** Whether it is an IPv6 block; of a block without {@link cidrProblem}. */
export function isIPv6Block(cidr: string): boolean {
  return cidr.includes(':');
}
