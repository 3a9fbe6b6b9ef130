import { parseAddress, parseCidr } from '@sandlot/std';
import type { Address, Cidr } from '@sandlot/std';

/** Whether the gateway may dial an address. */
export type AddressRule = (address: string) => boolean;

export type Networks = readonly Cidr[];

/**
 * Networks in which no pod of a sandbox can be: unspecified, loopback, link-local (cloud metadata), multicast, reserved, and
 * IPv6 forms of IPv4 addresses.
 */
const NEVER = parseNetworks([
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
]);

/** Parses networks in CIDR notation. Throws when one is invalid. */
export function parseNetworks(cidrs: readonly string[]): Networks {
  return cidrs.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) throw new Error(`${text} is no network such as 10.0.0.0/8`);
    return cidr;
  });
}

function isIn(networks: Networks, address: Address): boolean {
  const kind = address.kind();
  return networks.some((network) => network.address.kind() === kind && address.match(network.address, network.prefix));
}

/** The plain form of an IPv4 address that a dual-stack socket shows as mapped (`::ffff:10.0.0.1`). */
export function formatPlainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Whether the peer of a socket is in one of the networks. The zone of a link-local peer (`fe80::1%eth0`) does not matter. */
export function isWithin(networks: Networks, peer: string): boolean {
  if (networks.length === 0) return false;
  const [unzoned = ''] = peer.split('%', 1);
  const address = parseAddress(formatPlainAddress(unzoned));
  return address !== undefined && isIn(networks, address);
}

/**
 * A rule that allows the addresses of pods: no loopback, link-local, multicast or unspecified address, unless it is in one of
 * the `allowed` networks.
 */
export function createAddressRule(allowed: readonly string[]): AddressRule {
  const exempt = parseNetworks(allowed);
  return (text) => {
    const address = parseAddress(text);
    return address !== undefined && (!isIn(NEVER, address) || isIn(exempt, address));
  };
}
