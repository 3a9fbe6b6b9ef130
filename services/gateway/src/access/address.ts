import { BlockList, isIP } from 'node:net';

/** Where no pod of a sandbox can be: ourselves, the link (cloud metadata), groups, nowhere, and IPv4 in disguise. */
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

/** Whether an address may be dialled. */
export type AddressRule = (address: string) => boolean;

/** Networks, each family for itself: Node finds every IPv4 address in the IPv6 network of those in disguise. */
export interface Networks {
  readonly ipv4: BlockList;
  readonly ipv6: BlockList;
}

/** A set of networks in CIDR notation. Throws on one that is none. */
export function networks(cidrs: readonly string[]): Networks {
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

/** Whether `address` is in one of the networks. */
function isIn(set: Networks, address: string): boolean {
  const family = familyOf(address);
  return family !== undefined && set[family].check(address, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const family = isIP(address);
  return family === 4 ? 'ipv4' : family === 6 ? 'ipv6' : undefined;
}

/** An IPv4 address as itself, where a socket for both families shows it in disguise. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Whether the peer of a socket is in one of the networks. */
export function isWithin(set: Networks, address: string): boolean {
  return isIn(set, plainAddress(address));
}

/** The rule of the security checklist: no loopback, link-local, multicast or unspecified address, but for `allowed`. */
export function addressRule(allowed: readonly string[]): AddressRule {
  const never = networks(NEVER);
  const exempt = networks(allowed);
  return (address) => familyOf(address) !== undefined && (!isIn(never, address) || isIn(exempt, address));
}
