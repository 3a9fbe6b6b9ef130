import { describe, expect, it } from 'vitest';
import { parseNetworks } from '../access/address.ts';
import { findSource } from './source.ts';

const trusted = parseNetworks(['10.0.0.0/8', 'fd00::/8']);
const buildPeer = (address: string, isTrusted = false) => ({ address, isTrusted, proto: 'http', host: 'h' }) as const;

describe('a request counts for', () => {
  it.each<[string, string, string]>([
    ['the IPv4 address of its sender', '192.0.2.7', '192.0.2.7'],
    ['the same address as a dual-stack socket shows it', '::ffff:192.0.2.7', '192.0.2.7'],
    ['the network of an IPv6 address, of which one host may use any', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['the same network for another of its addresses', '2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['a link-local network, without the zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('%s', (_, address, source) => {
    expect(findSource(buildPeer(address), undefined, trusted)).toBe(source);
  });

  it.each<[string, string | string[] | undefined, string]>([
    ['the client that a trusted proxy names', '192.0.2.7', '192.0.2.7'],
    ['the last client, not what that client wrote before', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
    ['the client before a chain of trusted proxies', '192.0.2.7, 10.0.0.2, fd00::1', '192.0.2.7'],
    ['the client in the last of several headers', ['198.51.100.1', '192.0.2.7'], '192.0.2.7'],
    ['the proxy itself without the header', undefined, '10.0.0.1'],
    ['the proxy itself when the header is no address', 'unknown', '10.0.0.1'],
    ['the first proxy when all are trusted', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ])('%s', (_, forwardedFor, source) => {
    expect(findSource(buildPeer('10.0.0.1', true), forwardedFor, trusted)).toBe(source);
  });

  it('its sender when it forges the header without being a trusted proxy', () => {
    expect(findSource(buildPeer('192.0.2.7'), '198.51.100.1', trusted)).toBe('192.0.2.7');
  });
});
