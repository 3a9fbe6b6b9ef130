import fc from 'fast-check';
import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { decodeRecord, encodeRecord, overdue, RECORD_KEPT_MS, recordOf, shardOf } from './record.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const record = fc.record({
  digest: fc.string(),
  templateID: fc.string(),
  envdVersion: fc.string(),
  closed: fc.boolean(),
  createdMs: fc.integer({ min: NOW - 2 * RECORD_KEPT_MS, max: NOW }),
});

function claim(notes: Record<string, string>, fields: Partial<SandboxClaim> = {}): SandboxClaim {
  return {
    metadata: { name: 'ab1', creationTimestamp: '2026-01-01T12:00:00Z', annotations: notes },
    spec: { warmPoolRef: { name: 'base' } },
    status: { completionTime: '2026-01-01T12:00:01Z' },
    ...fields,
  };
}

const told = { envdVersion: '0.6.4', nowMs: NOW };

describe('the record of a create', () => {
  it('is read as it was written for a day, and is overdue from then on', () => {
    fc.assert(
      fc.property(record, (written) => {
        const text = encodeRecord(written);
        const counts = NOW - written.createdMs < RECORD_KEPT_MS;
        expect(decodeRecord(text, NOW)).toEqual(counts ? written : undefined);
        expect(overdue({ id: text }, NOW)).toEqual(counts ? [] : ['id']);
      }),
    );
  });

  it('is overdue when it is none', () => {
    fc.assert(fc.property(fc.string(), (text) => overdue({ id: text }, NOW).length === 1));
  });

  it.each([
    ['was made with a key and given to its caller', claim({ [annotations.requestDigest]: 'd' }), true],
    ['was made without a key', claim({}), false],
    ['was never given to its caller', claim({ [annotations.requestDigest]: 'd' }, { status: {} }), false],
    [
      'was made more than a day ago',
      claim({ [annotations.requestDigest]: 'd' }, { metadata: { creationTimestamp: '2025-12-31T23:59:59Z' } }),
      false,
    ],
  ])('is asked for by a claim that %s: %#', (_what, made, isAsked) => {
    expect(recordOf(made, told) !== undefined).toBe(isAsked);
  });

  it('is in one of few objects, whose name is a name', () => {
    expect(shardOf('k3x9v0c2m4q8r1t7z5ab')).toBe('sandbox-creates-k3');
  });
});
