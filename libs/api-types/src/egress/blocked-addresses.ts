/** IPv4 blocks that are not the internet: private, shared, local, reserved, multicast (docs/reference/sandbox-template.md#network-policy). */
export const BLOCKED_IPV4 = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '0.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const;

/**
 * The same for IPv6, with every block that embeds IPv4 addresses. `::/8` covers `::ffff:0:0/96`, which strict API servers
 * refuse as a literal.
 */
export const BLOCKED_IPV6 = [
  'fc00::/7',
  'fe80::/10',
  '::/8',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2001:db8::/32',
  '2002::/16',
  'fec0::/10',
  'ff00::/8',
] as const;
