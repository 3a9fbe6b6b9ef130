import fc from 'fast-check';
import { annotations, formatEgressText } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { findHolder, findStoredMs, listStoredKeys, storeRules } from './stored-headers.ts';

const NOW = Date.UTC(2026, 0, 1);
const GIVEN = [
  {
    host: 'a.example',
    headers: [
      ['A', 'value-1'],
      ['B', 'value-2'],
    ],
  },
  { host: '*.b.example', headers: [['A', 'value-3']] },
] as const;

const buildClaim = (network: string): SandboxClaim => ({
  metadata: { namespace: 'team-a', name: 'box', uid: 'u1', annotations: { [annotations.network]: network } },
  spec: { warmPoolRef: { name: 'base' } },
});

describe('rules whose values are stored', () => {
  it('name keys, which a claim has in place of the values', () => {
    const { rules, values } = storeRules(GIVEN, NOW);
    const claim = buildClaim(formatEgressText({ allowOut: [], denyOut: [], rules }));
    expect(listStoredKeys(claim)).toEqual(Object.keys(values));
    expect(Object.values(values)).toEqual(['value-1', 'value-2', 'value-3']);
    expect(rules.map(({ host, headers }) => [host, headers.map(({ name }) => name)])).toEqual([
      ['a.example', ['A', 'B']],
      ['*.b.example', ['A']],
    ]);
    expect(JSON.stringify(claim)).not.toMatch(/value-/);
  });

  it('never have a value in the text of the claim', () => {
    const secret = 'hunter2-5d1c';
    const value = fc.string({ maxLength: 20 }).map((text) => secret + text);
    const given = fc.array(
      fc.record({
        host: fc.constantFrom('a.example', '*.b.example'),
        headers: fc.array(fc.tuple(fc.constantFrom('A', 'B'), value), { maxLength: 4 }),
      }),
    );
    fc.assert(
      fc.property(given, (asked) => {
        const { rules, values } = storeRules(asked, NOW);
        expect(formatEgressText({ allowOut: [], denyOut: [], rules })).not.toContain(secret);
        expect(Object.values(values)).toEqual(asked.flatMap(({ headers }) => headers.map(([, text]) => text)));
      }),
    );
  });

  it('have keys that no other request has, and that say when they were stored', () => {
    const [first, second] = [storeRules(GIVEN, NOW), storeRules(GIVEN, NOW)];
    const keys = [...Object.keys(first.values), ...Object.keys(second.values)];
    expect(new Set(keys).size).toBe(6);
    for (const key of keys) expect(key).toMatch(/^h-[a-z0-9]{16}-\d$/);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(2300, 0) }), (ms) => {
        for (const key of Object.keys(storeRules(GIVEN, ms).values)) expect(findStoredMs(key)).toBe(ms);
      }),
    );
    expect(findStoredMs('value')).toBeUndefined();
  });

  it('are none in a claim that cannot be read', () => {
    expect(listStoredKeys(buildClaim('{"rules":[{"host":"*","headers":[{"name":"A","stored":"h-1-0"}]}]}'))).toEqual(
      [],
    );
  });
});

describe('the Secret with the header values of a claim', () => {
  const secret = {
    metadata: { name: 'egress-u1', annotations: { [annotations.storedFor]: 'team-a/box' } },
    type: 'sandlot.dev/egress-headers',
  };

  it('says whose they are', () => {
    expect(findHolder(secret)).toEqual({ namespace: 'team-a', name: 'box', uid: 'u1' });
  });

  it.each([
    ['of another type', { ...secret, type: 'Opaque' }],
    ['without a claim', { ...secret, metadata: { name: 'egress-u1' } }],
    [
      'for half a claim',
      { ...secret, metadata: { ...secret.metadata, annotations: { [annotations.storedFor]: 'box' } } },
    ],
    ['of another name', { ...secret, metadata: { ...secret.metadata, name: 'envs-u1' } }],
  ])('is none of ours %s', (_what, other) => {
    expect(findHolder(other)).toBeUndefined();
  });
});
