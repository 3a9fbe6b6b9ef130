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

/** A set of networks in CIDR notation. Throws on one that is none. */
export function networks(cidrs: readonly string[]): BlockList {
  const set = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/');
    const family = isIP(address);
    const prefix = bits === '' ? (family === 4 ? 32 : 128) : Number(bits);
    if (family === 0 || !Number.isInteger(prefix)) throw new Error(`${cidr} is no network such as 10.0.0.0/8`);
    set.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  }
  return set;
}

/** Whether `address` is in one of the networks; an IPv4 address of a dual-stack socket is looked up as what it is. */
export function isWithin(set: BlockList, address: string): boolean {
  const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
  const family = isIP(plain);
  return family !== 0 && set.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

/** The rule of the security checklist: no loopback, link-local, multicast or unspecified address, but for `allowed`. */
export function addressRule(allowed: readonly string[]): AddressRule {
  const never = networks(NEVER);
  const exempt = networks(allowed);
  return (address) => {
    const family = isIP(address);
    if (family === 0) return false;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    return !never.check(address, type) || exempt.check(address, type);
  };
}
