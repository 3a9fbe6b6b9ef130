import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A plain IPv4 or IPv6 address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A block of addresses: those that share the first `prefix` bits with `address`, whose other bits are zero. */
export interface Cidr {
  readonly address: Address;
  readonly prefix: number;
}

/** All IPv4 addresses. */
export const EVERY_IPV4: Cidr = { address: ipaddr.IPv4.parse('0.0.0.0'), prefix: 0 };
/** All IPv6 addresses. */
export const EVERY_IPV6: Cidr = { address: ipaddr.IPv6.parse('::'), prefix: 0 };

/** Reads a plain address, without leading zeros or a zone; undefined when it is none. */
export function parseAddress(text: string): Address | undefined {
  // Node's rules are strict. Those of ipaddr.js accept what an API server refuses, such as `0x7f.1`.
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  return ipaddr.parse(text.includes(':') && text.includes('.') ? withoutDots(text) : text);
}

/** The IPv6 address without a dotted end. ipaddr.js reads `::1.2.3.4` as `::ffff:1.2.3.4`, which is another address. */
function withoutDots(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** Bits of an address of that kind: 32 or 128. */
export function parseAddressBits(address: Address): 32 | 128 {
  return address.kind() === 'ipv4' ? 32 : 128;
}

/** The block of that prefix length that holds the address; undefined when the prefix is too long. */
export function findCidr(address: Address, prefix: number): Cidr | undefined {
  if (prefix > parseAddressBits(address)) return undefined;
  const text = `${address.toString()}/${prefix}`;
  const { IPv4, IPv6 } = ipaddr;
  return {
    address: address.kind() === 'ipv4' ? IPv4.networkAddressFromCIDR(text) : IPv6.networkAddressFromCIDR(text),
    prefix,
  };
}

/** Reads a block or a single address; bits behind the prefix are dropped. Undefined when it is neither. */
export function parseCidr(text: string): Cidr | undefined {
  const [, host = '', digits] = /^([^/]+)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === undefined) return undefined;
  return findCidr(address, digits === undefined ? parseAddressBits(address) : Number(digits));
}

/** As API servers want it: no bits behind the prefix, IPv6 in its shortest form. */
export function formatCidr({ address, prefix }: Cidr): string {
  return `${address.toString()}/${prefix}`;
}

/** Whether every address of `inner` is one of `outer`. */
export function containsCidr(outer: Cidr, inner: Cidr): boolean {
  const areOfOneKind = outer.address.kind() === inner.address.kind();
  return areOfOneKind && outer.prefix <= inner.prefix && inner.address.match(outer.address, outer.prefix);
}

/** Whether it is an IPv4 address written as IPv6, which API servers with strict validation refuse. */
export function isMappedIPv4(address: Address): boolean {
  return address.kind() === 'ipv6' && address.range() === 'ipv4Mapped';
}
