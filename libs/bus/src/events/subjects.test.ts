import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventTypes } from './catalogue.ts';
import {
  escapeToken,
  formatInboxPrefix,
  formatSubject,
  formatSubjectInAllNamespaces,
  parseSubject,
} from './subjects.ts';

const anyType = fc.constantFrom(...eventTypes);
const anyName = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((name) => name.isWellFormed());

describe('formatInboxPrefix', () => {
  it.each([
    [undefined, '_INBOX'],
    ['claim-controller', '_INBOX_claim-controller'],
    ['a.b', '_INBOX_a%2Eb'],
    ['>', '_INBOX_%3E'],
  ] as const)('gives the user %j the prefix %s', (user, prefix) => {
    expect(formatInboxPrefix(user)).toBe(prefix);
  });
});

describe('formatSubject', () => {
  it.each([
    ['team-a', 'claim.bound', 'sandlot.team-a.claim.bound'],
    ['default', 'sandbox.wake.requested', 'sandlot.default.sandbox.wake.requested'],
    ['a.b', 'pool.ready', 'sandlot.a%2Eb.pool.ready'],
    ['*', 'pool.ready', 'sandlot.%2A.pool.ready'],
    ['>', 'pool.ready', 'sandlot.%3E.pool.ready'],
    ['a b', 'pool.ready', 'sandlot.a%20b.pool.ready'],
    ['', 'pool.ready', 'sandlot.%.pool.ready'],
  ] as const)('puts namespace %j and %s into %s', (namespace, type, subject) => {
    expect(formatSubject(type, namespace)).toBe(subject);
  });

  it('round-trips through parseSubject for every namespace and type', () => {
    fc.assert(
      fc.property(anyType, anyName, (type, namespace) => {
        expect(parseSubject(formatSubject(type, namespace))).toEqual({ namespace, type });
      }),
    );
  });

  it('never lets a namespace add a token, a wildcard or a blank', () => {
    fc.assert(
      fc.property(anyName, (namespace) => {
        expect(escapeToken(namespace)).toMatch(/^[A-Za-z0-9_%-]+$/);
      }),
    );
  });

  it('does not throw for a lone surrogate', () => {
    expect(formatSubject('pool.ready', '\ud800')).toBe('sandlot.%EF%BF%BD.pool.ready');
  });
});

describe('parseSubject', () => {
  it.each([
    'sandlot',
    'sandlot.a',
    'sandlot.a.claim',
    'other.a.claim.bound',
    'sandlot.a.claim.bound.x',
    'sandlot.%E0.pool.ready',
  ])('refuses %s', (subject) => {
    expect(parseSubject(subject)).toBeUndefined();
  });
});

describe('formatSubjectInAllNamespaces', () => {
  it('has one wildcard, for the namespace', () => {
    expect(formatSubjectInAllNamespaces('claim.bound')).toBe('sandlot.*.claim.bound');
  });
});
