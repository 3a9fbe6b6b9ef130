import type { HeaderRule } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import type { SeenClaim, SeenOwner } from '../plan/plan.ts';
import { decideRules } from './decide-rules.ts';

const secret = { name: 'Authorization', valueFrom: { secretKeyRef: { name: 's', key: 'k' } }, format: 'Bearer {}' };
const rule = (host: string, ...headers: HeaderRule['headers']): HeaderRule => ({
  host,
  methods: [],
  paths: [],
  headers,
});
const claim = (...rules: readonly HeaderRule[]): SeenClaim => ({
  name: 'c',
  uid: 'u',
  wish: { isClosed: false, names: [], denied: [], isObserved: false, rules },
});
const decide = (given: Pick<SeenOwner, 'claim' | 'egress'>) =>
  decideRules({ sandboxUid: 's', namespace: 'n', within: [], hasPolicy: true, ...given });

describe('the rules of a sandbox', () => {
  it('are those of its template and of its claim, with plain texts as they are', () => {
    const egress = { mode: 'OnDemand', rules: [rule('a.com', { name: 'X-Team', value: 't' })] } as const;
    const { rules, credentials } = decide({ egress, claim: claim(rule('b.com', secret)) });
    expect(rules).toEqual([
      { ...rule('a.com'), headers: [{ name: 'X-Team', value: 't', ref: '' }] },
      { ...rule('b.com'), headers: [{ name: 'Authorization', value: '{}', ref: 'u b.com authorization' }] },
    ]);
    expect(credentials).toEqual([
      {
        ref: 'u b.com authorization',
        namespace: 'n',
        claim: 'c',
        claimUid: 'u',
        host: 'b.com',
        header: 'Authorization',
        source: { kind: 'secret', name: 's', key: 'k', format: 'Bearer {}' },
      },
    ]);
  });

  it('have a reference for a text with markers', () => {
    const text = 'Bearer ${e2b.secrets.key}';
    const { rules, credentials } = decide({
      egress: { mode: 'OnDemand' },
      claim: claim(rule('a.com', { name: 'A', value: text })),
    });
    expect(rules[0]?.headers).toEqual([{ name: 'A', value: '{}', ref: 'u a.com a' }]);
    expect(credentials[0]?.source).toEqual({ kind: 'text', text });
  });

  it('are not changed by a claim where the template has any for the host', () => {
    const restricted = { ...rule('*.a.com'), methods: ['GET'] };
    const given = claim(rule('x.a.com', secret), rule('b.com'));
    const { rules, credentials } = decide({ egress: { mode: 'OnDemand', rules: [restricted] }, claim: given });
    expect(rules.map(({ host }) => host)).toEqual(['*.a.com', 'b.com']);
    expect(credentials).toEqual([]);
  });

  it('have no values without a claim', () => {
    const { rules, credentials } = decide({ egress: { mode: 'OnDemand', rules: [rule('a.com', secret)] } });
    expect(rules).toHaveLength(1);
    expect(credentials).toEqual([]);
  });

  it('are none where the template is Direct', () => {
    expect(decide({ claim: claim(rule('a.com', secret)) })).toEqual({ rules: [], credentials: [] });
  });
});
