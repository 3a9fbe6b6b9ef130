import { isIPv4, isIPv6 } from 'node:net';

/** The upper 96 bits of an IPv4 address written as IPv6: API servers with strict validation refuse them (API contract, network policy). */
const MAPPED = 0xffffn;

/**
 * Why a NetworkPolicy cannot take this block out of "everything", or undefined when it can. As strict as the strictest
 * API server: a plain address, no bits behind the prefix, and smaller than everything.
 */
export function cidrProblem(cidr: string): string | undefined {
  const [, address = '', digits = ''] = /^([^/%]+)\/(0|[1-9][0-9]{0,2})$/.exec(cidr) ?? [];
  if (isIPv4(address)) return blockProblem({ value: ipv4Value(address), prefix: Number(digits), bits: 32 });
  if (!isIPv6(address)) return 'is not a CIDR such as 203.0.113.0/24 or 2001:db8::/32';
  const value = ipv6Value(address);
  if (value >> 32n === MAPPED) return 'is an IPv4 block written as IPv6: write it as IPv4';
  return blockProblem({ value, prefix: Number(digits), bits: 128 });
}

interface Block {
  readonly value: bigint;
  readonly prefix: number;
  readonly bits: number;
}

function blockProblem({ value, prefix, bits }: Block): string | undefined {
  if (prefix > bits) return `has a prefix longer than ${bits}`;
  if (prefix === 0) return 'is everything: it leaves no address to allow';
  const hostBits = BigInt(bits - prefix);
  return (value >> hostBits) << hostBits === value ? undefined : `has bits set behind its prefix of ${prefix}`;
}

/** Whether it is an IPv6 block; of a block without {@link cidrProblem}. */
export function isIPv6Block(cidr: string): boolean {
  return cidr.includes(':');
}

function ipv4Value(address: string): bigint {
  return address.split('.').reduce((value, octet) => (value << 8n) | BigInt(octet), 0n);
}

function ipv6Value(address: string): bigint {
  const [head = '', tail] = withoutDots(address).split('::');
  const groups = (part: string): string[] => part.split(':').filter((group) => group !== '');
  const [before, after] = [groups(head), groups(tail ?? '')];
  const middle = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...middle, ...after].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

/** The dotted end that an IPv6 address may have, as two groups. */
function withoutDots(address: string): string {
  return address.replace(/[0-9.]+\.[0-9]+$/, (dotted) => {
    const value = ipv4Value(dotted);
    return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  });
}
