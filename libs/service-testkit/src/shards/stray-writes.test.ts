import { describe, expect, it } from 'vitest';
import { findGaps, findOverlaps, findStrayWrites, parseWrites } from './stray-writes.ts';
import type { AuditedWrite, ShardTerm } from './stray-writes.ts';

const TERMS: readonly ShardTerm[] = [
  { shard: 0, token: 2, holder: 'b', sinceMs: 200 },
  { shard: 0, token: 1, holder: 'a', sinceMs: 100 },
  { shard: 1, token: 1, holder: 'a', sinceMs: 100 },
];

function write(change: Partial<AuditedWrite>): AuditedWrite {
  const about = { verb: 'patch', resource: 'sandboxes', subresource: '', namespace: 'n', name: 'one' };
  return { ...about, user: 'a', receivedMs: 150, answeredMs: 151, ...change };
}

describe('a stray write', () => {
  it.each<[string, Partial<AuditedWrite>, boolean]>([
    ['is none in the term of its replica', {}, false],
    ['is one before the term', { receivedMs: 99 }, true],
    ['is one after the next term has begun', { receivedMs: 201 }, true],
    ['is none of the next holder', { receivedMs: 201, user: 'b' }, false],
    ['is one of the next holder before its term', { user: 'b' }, true],
    ['is one of a replica that never held the shard', { user: 'c' }, true],
  ])('%s', (_, change, isStray) => {
    const one = write(change);
    expect(findStrayWrites([one], TERMS, () => 0)).toEqual(isStray ? [one] : []);
  });
});

describe('an overlap', () => {
  it.each<[string, Partial<AuditedWrite>, number]>([
    ['is a write of another replica before the answer', { user: 'b', receivedMs: 155 }, 1],
    ['is none after the answer', { user: 'b', receivedMs: 161 }, 0],
    ['is none of the same replica', { receivedMs: 155 }, 0],
    ['is none with a write to another object', { user: 'b', receivedMs: 155, name: 'two' }, 0],
  ])('%s', (_, change, count) => {
    expect(findOverlaps([write({ answeredMs: 160 }), write(change)])).toHaveLength(count);
  });
});

it('a missing term is a gap', () => {
  expect(findGaps(TERMS)).toEqual([]);
  expect(findGaps([{ shard: 2, token: 2, holder: 'b', sinceMs: 200 }])).toEqual([2]);
});

it('reads the writes of the replicas from audit events', () => {
  const event = (change: object): string =>
    JSON.stringify({
      verb: 'patch',
      user: { username: 'a' },
      objectRef: { resource: 'sandboxes', subresource: 'status', namespace: 'n', name: 'one' },
      requestReceivedTimestamp: '1970-01-01T00:00:00.150000Z',
      stageTimestamp: '1970-01-01T00:00:00.151000Z',
      ...change,
    });
  const others = [{ verb: 'get' }, { user: { username: 'z' } }, { objectRef: { resource: 'leases' } }].map(event);
  expect(parseWrites([event({}), ...others], new Set(['a']))).toEqual([write({ subresource: 'status' })]);
});
