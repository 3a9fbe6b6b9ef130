import { describe, expect, it } from 'vitest';
import { createAddressRule, isWithin, parseNetworks } from './address.ts';

describe('addresses of pods', () => {
  it.each([
    ['10.0.0.1', true],
    ['192.168.1.1', true],
    ['fd00::1', true],
    ['2001:db8::1', true],
    ['127.0.0.1', false],
    ['0.0.0.0', false],
    ['169.254.169.254', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::', false],
    ['::1', false],
    ['fe80::1', false],
    ['ff02::1', false],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::a00:1', false],
    ['localhost', false],
    ['', false],
  ])('%s may be dialled: %s', (address, expected) => {
    expect(createAddressRule([])(address)).toBe(expected);
  });

  it('may be in a forbidden network only when it is allowed explicitly', () => {
    expect(['127.0.0.1', '::1'].map(createAddressRule(['127.0.0.0/8']))).toEqual([true, false]);
    expect(() => createAddressRule(['localhost'])).toThrow('localhost is no network');
  });
});

describe('trusted peers', () => {
  it.each([
    ['10.0.0.1', ['10.0.0.0/8'], true],
    ['11.0.0.1', ['10.0.0.0/8'], false],
    ['::ffff:10.0.0.1', ['10.0.0.0/8'], true],
    ['fe80::1%eth0', ['fe80::/10'], true],
    ['fd00::1', ['10.0.0.0/8'], false],
    ['', ['0.0.0.0/0'], false],
    ['10.0.0.1', [], false],
  ])('%s is within %j: %s', (peer, networks, expected) => {
    expect(isWithin(parseNetworks(networks), peer)).toBe(expected);
  });
});
