import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatCidr, containsCidr, isMappedIPv4, parseAddress, parseCidr } from './cidr.ts';

describe('a block of addresses', () => {
  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['1.1.1.1', '1.1.1.1/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['255.255.255.255/31', '255.255.255.254/31'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1/128'],
    ['::/0', '::/0'],
    ['64:ff9b::1.2.3.4/96', '64:ff9b::/96'],
    ['::1.2.3.4', '::102:304/128'],
  ])('%s is %s', (text, expected) => {
    const parsed = parseCidr(text);
    expect(parsed === undefined ? undefined : formatCidr(parsed)).toBe(expected);
  });

  it.each([
    '',
    'example.com',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0/08',
    '1.2.3.4/',
    '::/129',
    'fe80::1%eth0',
    '*.x.io',
  ])('%j is none', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });

  it.each([
    ['0.0.0.0/0', '10.0.0.0/8', true],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0/32', false],
    ['10.0.0.0/9', '10.0.0.0/8', false],
    ['::/0', '10.0.0.0/8', false],
    ['2001:db8::/32', '2001:db8:1::/48', true],
  ])('%s holds %s: %s', (outer, inner, expected) => {
    const [a, b] = [parseCidr(outer), parseCidr(inner)];
    expect(a !== undefined && b !== undefined && containsCidr(a, b)).toBe(expected);
  });

  it.each([
    ['::ffff:1.2.3.4', true],
    ['::ffff:102:304', true],
    ['::1.2.3.4', false],
    ['1.2.3.4', false],
  ])('%s is an IPv4 address written as IPv6: %s', (text, expected) => {
    const address = parseAddress(text);
    expect(address !== undefined && isMappedIPv4(address)).toBe(expected);
  });

  it('reads what it has written', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(32), (address, prefix) => {
        const parsed = parseCidr(`${address}/${prefix}`);
        expect(parsed).toBeDefined();
        if (parsed !== undefined) expect(parseCidr(formatCidr(parsed))).toEqual(parsed);
      }),
    );
  });
});
