import { containsCidr, parseCidr } from '@sandlot/std';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { narrowEgress } from './narrow.ts';
import { buildProxyRule } from './proxy-rule.ts';
import type { EgressWish } from './wish.ts';

const wish = (asked: Partial<EgressWish>): EgressWish => ({ allowOut: [], denyOut: [], ...asked });
const block = (cidr: string, ...except: string[]) => ({
  ipBlock: { cidr, ...(except.length === 0 ? {} : { except }) },
});

/** Public addresses only: the default rules of a template. */
const PUBLIC = [{ to: [block('0.0.0.0/0', '10.0.0.0/8', '169.254.0.0/16'), block('::/0', 'fc00::/7')] }];
const NO_NET = { allowInternetAccess: false };

describe('egress rules of a sandbox of its own', () => {
  it.each<[string, object[], Partial<EgressWish>, object[]]>([
    ['are the template’s when the claim denies nothing', PUBLIC, { allowOut: ['10.0.0.1/32'] }, PUBLIC],
    ['are none without internet access', PUBLIC, NO_NET, []],
    ['are the template’s while the wish is observed', PUBLIC, { ...NO_NET, observe: true }, PUBLIC],
    ['are none when all IPv4 is denied, which means everything', PUBLIC, { denyOut: ['0.0.0.0/0'] }, []],
    [
      'leave out what is denied',
      PUBLIC,
      { denyOut: ['8.8.8.0/24', '10.1.0.0/16', '8.8.8.8/32'] },
      [{ to: [block('0.0.0.0/0', '10.0.0.0/8', '169.254.0.0/16', '8.8.8.0/24'), block('::/0', 'fc00::/7')] }],
    ],
    [
      'keep what is allowed by name, even if it is denied',
      PUBLIC,
      { ...NO_NET, allowOut: ['1.1.1.1/32', '2606:4700::/32'] },
      [{ to: [block('1.1.1.1/32'), block('2606:4700::/32')] }],
    ],
    [
      'never allow what the template does not',
      PUBLIC,
      { ...NO_NET, allowOut: ['10.0.0.1/32', '169.254.169.254/32'] },
      [],
    ],
    [
      'keep the holes of the template in what is allowed',
      PUBLIC,
      { ...NO_NET, allowOut: ['0.0.0.0/1', '192.0.0.0/2'] },
      [{ to: [block('0.0.0.0/1', '10.0.0.0/8'), block('192.0.0.0/2')] }],
    ],
    [
      'have the ports of each rule',
      [{ to: [block('0.0.0.0/0')], ports: [{ port: 443 }] }, { to: [block('192.0.2.0/24')] }],
      { denyOut: ['192.0.0.0/16'] },
      [{ to: [block('0.0.0.0/0', '192.0.0.0/16')], ports: [{ port: 443 }] }],
    ],
    [
      'drop selector peers as soon as anything is denied',
      [{ to: [{ podSelector: {} }, block('1.0.0.0/8')] }, { to: [{ namespaceSelector: {} }] }],
      { denyOut: ['9.9.9.9/32'] },
      [{ to: [block('1.0.0.0/8')] }],
    ],
    [
      'read a rule without peers as all addresses',
      [{}],
      { denyOut: ['10.0.0.0/8'] },
      [{ to: [block('0.0.0.0/0', '10.0.0.0/8'), block('::/0')] }],
    ],
  ])('%s', (...[, egress, asked, expected]) => {
    expect(narrowEgress(egress as Parameters<typeof narrowEgress>[0], wish(asked))).toEqual(expected);
  });
});

describe('the rule of the egress proxy', () => {
  const proxyRule = buildProxyRule({ namespace: 'sandlot-system', podLabels: { app: 'egress' }, ports: [443] });
  const closed = { denyOut: ['0.0.0.0/0'] };
  it.each<[string, Partial<EgressWish>, boolean]>([
    ['stays for a wish that denies nothing', {}, true],
    ['stays for names where all else is denied', { ...closed, names: ['example.com'] }, true],
    ['stays where some addresses are denied, because it has the resolver', { denyOut: ['9.9.9.9/32'] }, true],
    ['goes where everything is denied and no name is allowed', closed, false],
    ['goes without internet access', NO_NET, false],
    ['stays for a wish that is observed', { ...closed, observe: true }, true],
  ])('%s', (_, asked, stays) => {
    const rules = narrowEgress([...PUBLIC, proxyRule] as Parameters<typeof narrowEgress>[0], wish(asked), proxyRule);
    expect(rules.some(({ to }) => JSON.stringify(to) === JSON.stringify(proxyRule.to))).toBe(stays);
  });

  it('goes where the installation has no proxy', () => {
    expect(narrowEgress([proxyRule], wish({ ...closed, names: ['example.com'] }))).toEqual([]);
  });
});

const address = fc.ipV4().map((ip) => `${ip}/32`);
const cidr = fc.tuple(fc.ipV4(), fc.nat(32)).map(([ip, prefix]) => `${ip}/${prefix}`);
const holds = (outer: string, inner: string): boolean => {
  const [a, b] = [parseCidr(outer), parseCidr(inner)];
  return a !== undefined && b !== undefined && containsCidr(a, b);
};
const allows = (rules: ReturnType<typeof narrowEgress>, ip: string): boolean =>
  rules.some(({ to }) =>
    (to as ReturnType<typeof block>[]).some(
      ({ ipBlock }) => holds(ipBlock.cidr, ip) && !(ipBlock.except ?? []).some((hole) => holds(hole, ip)),
    ),
  );

describe('for every wish', () => {
  it('an address is reachable if the template allows it and the claim allows it by name or does not deny it', () => {
    const cidrs = fc.array(cidr, { maxLength: 4 });
    fc.assert(
      fc.property(fc.record({ allowOut: cidrs, denyOut: cidrs, isNamed: fc.boolean() }), address, (given, ip) => {
        const allowOut = given.isNamed ? [...given.allowOut, ip] : given.allowOut;
        const isDenied = given.denyOut.some((block) => holds(block, ip)) && !allowOut.some((block) => holds(block, ip));
        const rules = narrowEgress(PUBLIC, wish({ ...given, allowOut }));
        expect(allows(rules, ip)).toBe(allows(PUBLIC, ip) && !isDenied);
      }),
      { numRuns: 500 },
    );
  });
});
