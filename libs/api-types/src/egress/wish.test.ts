import { describe, expect, it } from 'vitest';
import { claim } from '../../test/index.ts';
import { findEgressWish, formatEgressText, formatFirstEgressText, hasOwnNetwork, needsEgressProxy } from './wish.ts';
import type { EgressWish } from './wish.ts';

const rules = [{ host: 'api.example.com', headers: [{ name: 'X-Team', value: 'a' }] }];
const made = (text: string) => claim({ metadata: { annotations: { 'sandlot.dev/network': text } } });
const NONE: EgressWish = { allowOut: [], denyOut: [] };

describe('rules of a claim', () => {
  it('need the proxy, and no NetworkPolicy of its own where it denies nothing', () => {
    const alone = made(JSON.stringify({ rules }));
    const wish = findEgressWish(alone) ?? NONE;
    expect(wish.rules).toEqual([{ ...rules[0], methods: [], paths: [] }]);
    expect([needsEgressProxy(wish), hasOwnNetwork(alone)]).toEqual([true, false]);
    expect(hasOwnNetwork(made(JSON.stringify({ rules, denyOut: [] })))).toBe(true);
    expect(hasOwnNetwork(made('{'))).toBe(true);
  });

  it('that cannot be read close the sandbox', () => {
    const wish = findEgressWish(made(JSON.stringify({ rules: [{ host: '*' }] })));
    expect(wish).toEqual({ allowInternetAccess: false, allowOut: [], denyOut: [] });
  });

  it('are written alone for a new claim, and with empty lists where a NetworkPolicy may have to be widened', () => {
    const wish = { ...NONE, rules: findEgressWish(made(JSON.stringify({ rules })))?.rules };
    expect(hasOwnNetwork(made(formatFirstEgressText(wish)))).toBe(false);
    expect(hasOwnNetwork(made(formatEgressText(wish)))).toBe(true);
    for (const text of [formatFirstEgressText(wish), formatEgressText(wish)]) {
      expect(findEgressWish(made(text))?.rules).toEqual(wish.rules);
    }
    const closed = { ...wish, allowInternetAccess: false };
    expect(formatFirstEgressText(closed)).toBe(formatEgressText(closed));
  });
});

it.each(['metadata.google.internal', '*.cluster.local', '1.2.0.192.in-addr.arpa'])(
  'the name %s is never let through: a list that has it closes everything',
  (name) => {
    const wish = findEgressWish(made(JSON.stringify({ denyOut: ['0.0.0.0/0'], allowOut: ['example.com', name] })));
    expect(wish).toEqual({ allowInternetAccess: false, allowOut: [], denyOut: [] });
  },
);
