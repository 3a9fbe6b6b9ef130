import fc from 'fast-check';
import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { decodeRecord, encodeRecord, listExpiredIds, RECORD_KEPT_MS, buildRecord, formatShard } from './record.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const record = fc.record({
  digest: fc.string(),
  templateID: fc.string(),
  envdVersion: fc.string(),
  closed: fc.boolean(),
  tokenKey: fc.integer({ min: 1 }),
  createdMs: fc.integer({ min: NOW - 2 * RECORD_KEPT_MS, max: NOW }),
});

function claim(annotationsOfClaim: Record<string, string>, fields: Partial<SandboxClaim> = {}): SandboxClaim {
  return {
    metadata: { name: 'ab1', creationTimestamp: '2026-01-01T12:00:00Z', annotations: annotationsOfClaim },
    spec: { warmPoolRef: { name: 'base' } },
    status: { completionTime: '2026-01-01T12:00:01Z' },
    ...fields,
  };
}

const options = { envdVersion: '0.6.4', nowMs: NOW };

describe('the record of a create with an Idempotency-Key', () => {
  it('is decoded as it was encoded for a day and expires then', () => {
    fc.assert(
      fc.property(record, (written) => {
        const text = encodeRecord(written);
        const isRecent = NOW - written.createdMs < RECORD_KEPT_MS;
        expect(decodeRecord(text, NOW)).toEqual(isRecent ? written : undefined);
        expect(listExpiredIds({ id: text }, NOW)).toEqual(isRecent ? [] : ['id']);
      }),
    );
  });

  it('counts as expired if it is malformed', () => {
    fc.assert(fc.property(fc.string(), (text) => listExpiredIds({ id: text }, NOW).length === 1));
  });

  it.each([
    ['was Ready', claim({ [annotations.requestDigest]: 'd' }), true],
    ['was created without an Idempotency-Key', claim({}), false],
    ['was never Ready', claim({ [annotations.requestDigest]: 'd' }, { status: {} }), false],
    [
      'was created more than a day ago',
      claim({ [annotations.requestDigest]: 'd' }, { metadata: { creationTimestamp: '2025-12-31T23:59:59Z' } }),
      false,
    ],
  ])('of a claim that %s: %#', (_name, subject, hasRecord) => {
    expect(buildRecord(subject, options) !== undefined).toBe(hasRecord);
  });

  it('is in the ConfigMap of the first two letters of the id', () => {
    expect(formatShard('k3x9v0c2m4q8r1t7z5ab')).toBe('sandbox-creates-k3');
  });
});
