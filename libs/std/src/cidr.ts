import { isIPv4, isIPv6 } from 'node:net';

/** A block of addresses: those that share the first `prefix` of `bits` bits with `value`. */
export interface Cidr {
  readonly value: bigint;
  readonly prefix: number;
  /** 32 or 128. */
  readonly bits: number;
}

/** The value of a plain address; undefined when it is none. */
export function addressValue(address: string): { readonly value: bigint; readonly bits: 32 | 128 } | undefined {
  if (isIPv4(address)) return { value: ipv4Value(address), bits: 32 };
  return isIPv6(address) && !address.includes('%') ? { value: ipv6Value(address), bits: 128 } : undefined;
}

/** Reads a block or a single address; bits behind the prefix are dropped. Undefined when it is neither. */
export function parseCidr(text: string): Cidr | undefined {
  const [, address = '', digits] = /^([^/]+)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text) ?? [];
  const found = addressValue(address);
  if (found === undefined) return undefined;
  const prefix = digits === undefined ? found.bits : Number(digits);
  if (prefix > found.bits) return undefined;
  const hostBits = BigInt(found.bits - prefix);
  return { value: (found.value >> hostBits) << hostBits, prefix, bits: found.bits };
}

/** As API servers want it: no bits behind the prefix, IPv6 in its shortest form. */
export function cidrText({ value, prefix, bits }: Cidr): string {
  const parts = bits === 32 ? [24n, 16n, 8n, 0n] : [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n];
  const numbers = parts.map((shift) => (value >> shift) & (bits === 32 ? 0xffn : 0xffffn));
  if (bits === 32) return `${numbers.join('.')}/${prefix}`;
  const long = numbers.map((group) => group.toString(16)).join(':');
  return `${new URL(`http://[${long}]`).hostname.slice(1, -1)}/${prefix}`;
}

/** Whether every address of `inner` is one of `outer`. */
export function containsCidr(outer: Cidr, inner: Cidr): boolean {
  if (outer.bits !== inner.bits || outer.prefix > inner.prefix) return false;
  const hostBits = BigInt(outer.bits - outer.prefix);
  return inner.value >> hostBits === outer.value >> hostBits;
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
