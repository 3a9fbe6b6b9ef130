import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasSameSpec, buildSpecPatch } from './difference.ts';
import type { PolicySpec } from './policy.ts';
import { buildDefaultRules } from './rules.ts';
import { NETWORK } from '../../../test/template-harness.ts';

type Spec = Parameters<typeof hasSameSpec>[0];

const podSelector = { matchLabels: { app: 'x' } };
const base: Spec = { podSelector, policyTypes: ['Ingress', 'Egress'] };
const withPorts = (...ports: object[]): Spec => ({ ...base, egress: [{ ports }] });
const withPeers = (...to: object[]): Spec => ({ ...base, egress: [{ to }] });
const block = (cidr: string, except?: string[]): object => ({ ipBlock: { cidr, except } });

describe('two specs', () => {
  it.each<readonly [string, Spec, Spec]>([
    ['a protocol that the API server fills in', withPorts({ port: 80 }), withPorts({ port: 80, protocol: 'TCP' })],
    ['the order of ports', withPorts({ port: 80 }, { port: 443 }), withPorts({ port: 443 }, { port: 80 })],
    [
      'the order of peers',
      withPeers(block('1.0.0.0/8'), block('2.0.0.0/8')),
      withPeers(block('2.0.0.0/8'), block('1.0.0.0/8')),
    ],
    [
      'the order of exceptions',
      withPeers(block('1.0.0.0/8', ['1.1.0.0/16', '1.2.0.0/16'])),
      withPeers(block('1.0.0.0/8', ['1.2.0.0/16', '1.1.0.0/16'])),
    ],
    ['a missing and an empty list of exceptions', withPeers(block('1.0.0.0/8')), withPeers(block('1.0.0.0/8', []))],
    ['a missing and an empty list of rules', base, { ...base, ingress: [], egress: [] }],
    ['the order of types', base, { ...base, policyTypes: ['Egress', 'Ingress'] }],
    [
      'the order of labels',
      { ...base, podSelector: { matchLabels: { a: '1', b: '2' } } },
      { ...base, podSelector: { matchLabels: { b: '2', a: '1' } } },
    ],
    [
      'a selector without labels and an empty one',
      withPeers({ podSelector: {} }),
      withPeers({ podSelector: { matchLabels: {} } }),
    ],
  ])('are the same despite %s', (_, a, b) => {
    expect([hasSameSpec(a, b), hasSameSpec(b, a)]).toEqual([true, true]);
  });

  it.each<readonly [string, Spec, Spec]>([
    ['another protocol', withPorts({ port: 80 }), withPorts({ port: 80, protocol: 'UDP' })],
    ['a port as text', withPorts({ port: 80 }), withPorts({ port: '80' })],
    ['a range', withPorts({ port: 80 }), withPorts({ port: 80, endPort: 90 })],
    ['a rule for everything', base, { ...base, ingress: [{}] }],
    ['a peer in every namespace', withPeers({ podSelector }), withPeers({ podSelector, namespaceSelector: {} })],
    ['a missing exception', withPeers(block('1.0.0.0/8', ['1.1.0.0/16'])), withPeers(block('1.0.0.0/8'))],
    [
      'two rules instead of one',
      withPorts({ port: 80 }, { port: 443 }),
      { ...base, egress: [{ ports: [{ port: 80 }] }, { ports: [{ port: 443 }] }] },
    ],
    ['an open direction', base, { ...base, policyTypes: ['Ingress'] }],
    ['an additional label', base, { ...base, podSelector: { matchLabels: { app: 'x', other: '' } } }],
    [
      'an additional expression',
      base,
      { ...base, podSelector: { ...podSelector, matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
    ],
  ])('differ by %s', (_, a, b) => {
    expect([hasSameSpec(a, b), hasSameSpec(b, a)]).toEqual([false, false]);
  });
});

describe('the patch of a spec', () => {
  const wanted: PolicySpec = { podSelector, policyTypes: ['Ingress', 'Egress'], ...buildDefaultRules(NETWORK) };
  const word = fc.constantFrom('a', 'b', 'app');
  const selector = fc.record(
    {
      matchLabels: fc.dictionary(word, fc.constantFrom('', 'x')),
      matchExpressions: fc.array(fc.record({ key: word, operator: fc.constant('Exists') }), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
  const rules = fc.array(fc.constantFrom<object>({}, { ports: [{ port: 80 }] }), { maxLength: 2 });
  const spec = fc.record(
    { podSelector: selector, policyTypes: fc.subarray(['Ingress', 'Egress']), ingress: rules, egress: rules },
    { requiredKeys: [] },
  );

  it('leaves exactly the wanted spec, whatever was there', () => {
    fc.assert(
      fc.property(spec, (present: object) => {
        expect(hasSameSpec(applyMergePatch(present, buildSpecPatch(present, wanted)), wanted)).toBe(true);
      }),
    );
  });
});

/** RFC 7386. */
function applyMergePatch(target: unknown, patch: unknown): object {
  const members = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, change] of Object.entries(isObject(patch) ? patch : {})) {
    if (change === null) members.delete(name);
    else members.set(name, isObject(change) ? applyMergePatch(members.get(name), change) : change);
  }
  return Object.fromEntries(members);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
