import { BlockList, isIP } from 'node:net';

/**
 * Networks in which no pod of a sandbox can be: unspecified, loopback, link-local (cloud metadata), multicast, reserved, and
 * IPv6 forms of IPv4 addresses.
 */
const NEVER = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  'fe80::/10',
  'ff00::/8',
];

/** Whether the gateway may dial an address. */
export type AddressRule = (address: string) => boolean;

/** Networks by family: Node would find every IPv4 address in the IPv6 network of mapped addresses. */
export interface Networks {
  readonly ipv4: BlockList;
  readonly ipv6: BlockList;
}

/** Parses networks in CIDR notation. Throws when one is invalid. */
export function parseNetworks(cidrs: readonly string[]): Networks {
  const set: Networks = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = familyOf(address);
    const prefix = bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits);
    if (family === undefined || !Number.isInteger(prefix)) throw new Error(`${cidr} is no network such as 10.0.0.0/8`);
    set[family].addSubnet(address, prefix, family);
  }
  return set;
}

function isIn(set: Networks, address: string): boolean {
  const family = familyOf(address);
  return family !== undefined && set[family].check(address, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const family = isIP(address);
  return family === 4 ? 'ipv4' : family === 6 ? 'ipv6' : undefined;
}

/** The plain form of an IPv4 address that a dual-stack socket shows as mapped (`::ffff:10.0.0.1`). */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Whether the peer of a socket is in one of the networks. */
export function isWithin(set: Networks, address: string): boolean {
  return isIn(set, plainAddress(address));
}

/**
 * A rule that allows the addresses of pods: no loopback, link-local, multicast or unspecified address, unless it is in one of
 * the `allowed` networks.
 */
export function createAddressRule(allowed: readonly string[]): AddressRule {
  const never = parseNetworks(NEVER);
  const exempt = parseNetworks(allowed);
  return (address) => familyOf(address) !== undefined && (!isIn(never, address) || isIn(exempt, address));
}
