import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadlineBook, NEAR_MS } from './book.ts';
import type { Errands } from './book.ts';
import type { Deadline } from './deadline.ts';
import { formatJobId, purposes } from './deadline.ts';

const KEY = 'team-a/box';
const NOW = 1_000_000;
const FAR = NOW + 60_000;
const SEEN = { nowMs: NOW, isNews: true };

const due = (dueAtMs: number, change: Partial<Deadline> = {}): Deadline => ({
  key: KEY,
  uid: 'u',
  generation: 1,
  purpose: 'ttl',
  dueAtMs,
  ...change,
});

/** A book whose deadlines Redis has stored. */
function bookWith(...deadlines: readonly Deadline[]): DeadlineBook {
  const book = new DeadlineBook();
  book.set(KEY, deadlines, SEEN);
  book.recordStored(book.takeErrands().add);
  return book;
}

const NOTHING = { add: [], move: [], remove: [] };

describe('errands', () => {
  const next = due(FAR, { generation: 2 });
  it.each<readonly [string, readonly [readonly Deadline[], readonly Deadline[]], object]>([
    ['nothing for an object without deadlines', [[], []], NOTHING],
    ['nothing for a deadline that did not change', [[due(FAR)], [due(FAR)]], NOTHING],
    ['nothing for a deadline that moves to a later time', [[due(FAR)], [due(FAR + 5_000)]], NOTHING],
    ['nothing for a near deadline, which is a timer', [[], [due(NOW + NEAR_MS - 1)]], NOTHING],
    ['a job for a new deadline', [[], [due(FAR)]], { ...NOTHING, add: [due(FAR)] }],
    ['a move for a deadline that comes earlier', [[due(FAR)], [due(FAR - 9)]], { ...NOTHING, move: [due(FAR - 9)] }],
    ['a removal for a deadline that is gone', [[due(FAR)], []], { ...NOTHING, remove: ['u-1-ttl'] }],
    ['a new job for a new generation', [[due(FAR)], [next]], { ...NOTHING, add: [next], remove: ['u-1-ttl'] }],
  ])('are %s', (_, [before, after], errands) => {
    const book = bookWith(...before);
    book.set(KEY, after, SEEN);
    expect(book.takeErrands()).toEqual(errands);
  });

  it('cancel each other when a deadline comes and goes before they run', () => {
    const book = bookWith();
    book.set(KEY, [due(FAR)], SEEN);
    book.set(KEY, [], SEEN);
    expect(book.takeErrands()).toEqual(NOTHING);
  });

  it('set the time of a job whose removal is still pending', () => {
    const book = bookWith(due(FAR));
    book.set(KEY, [], SEEN);
    book.set(KEY, [due(FAR + 1)], SEEN);
    expect(book.takeErrands()).toEqual({ ...NOTHING, move: [due(FAR + 1)] });
  });

  it('remove a job whose deadline went while Redis stored it', () => {
    const book = bookWith();
    book.set(KEY, [due(FAR)], SEEN);
    const { add } = book.takeErrands();
    book.set(KEY, [], SEEN);
    book.recordStored(add);
    expect(book.takeErrands()).toEqual({ ...NOTHING, remove: ['u-1-ttl'] });
  });

  it('move a job whose deadline comes earlier twice before Redis stores it', () => {
    const book = bookWith(due(FAR + 2));
    book.set(KEY, [], SEEN);
    book.set(KEY, [due(FAR)], SEEN);
    book.set(KEY, [due(FAR + 1)], SEEN);
    expect(book.takeErrands()).toEqual({ ...NOTHING, move: [due(FAR + 1)] });
  });

  it('move a job whose deadline comes earlier while Redis stores it', () => {
    const book = bookWith();
    book.set(KEY, [due(FAR)], SEEN);
    const { add } = book.takeErrands();
    book.set(KEY, [due(FAR - 9)], SEEN);
    book.recordStored(add);
    expect(book.takeErrands()).toEqual({ ...NOTHING, move: [due(FAR - 9)] });
  });

  it('add a job again that fired before its deadline, but not one that fired on time', () => {
    const book = bookWith(due(FAR));
    book.set(KEY, [due(FAR + 60_000)], SEEN);
    book.recordFired(book.find('u-1-ttl')!, FAR);
    expect(book.takeErrands()).toEqual({ ...NOTHING, add: [due(FAR + 60_000)] });
    book.recordFired(book.find('u-1-ttl')!, FAR + 60_000);
    expect(book.takeErrands()).toEqual(NOTHING);
  });

  it('leave Redis with exactly the jobs of the deadlines, none of them late, after any sequence of changes', () => {
    const times = fc.record({
      object: fc.constantFrom('a', 'b'),
      generation: fc.integer({ min: 1, max: 2 }),
      due: fc.dictionary(fc.constantFrom(...purposes), fc.integer({ min: NEAR_MS, max: 99_999 }), { maxKeys: 3 }),
      redis: fc.constantFrom('idle', 'starts', 'ends'),
    });
    fc.assert(
      fc.property(fc.array(times, { maxLength: 30 }), (history) => {
        const book = new DeadlineBook();
        const redis = new Map<string, number>();
        let storing: Errands = NOTHING;
        const end = (): void => {
          const { add, move, remove } = storing;
          for (const id of remove) redis.delete(id);
          for (const deadline of add)
            redis.set(formatJobId(deadline), redis.get(formatJobId(deadline)) ?? deadline.dueAtMs);
          for (const deadline of move) redis.set(formatJobId(deadline), deadline.dueAtMs);
          book.recordStored([...add, ...move]);
          storing = NOTHING;
        };
        const start = (): void => {
          end();
          storing = book.takeErrands();
        };
        for (const { object, generation, due: dues, redis: change } of history) {
          const deadlines = purposes.flatMap((purpose) => {
            const inMs = dues[purpose];
            return inMs === undefined ? [] : [due(NOW + inMs, { key: object, uid: object, generation, purpose })];
          });
          book.set(object, deadlines, SEEN);
          if (change === 'starts') start();
          if (change === 'ends') end();
        }
        for (let round = 0; round < 3; round += 1) start();
        const wanted = [...book.entries()].map(({ id }) => id);
        expect([...redis.keys()].sort()).toEqual(wanted.sort());
        for (const { id, deadline } of book.entries()) expect(redis.get(id)).toBeLessThanOrEqual(deadline.dueAtMs);
      }),
    );
  });
});

describe('meeting deadlines', () => {
  it('returns each deadline once, when it is due', () => {
    const book = bookWith(due(FAR), due(FAR + 9, { purpose: 'idle' }));
    expect(book.takeDue(KEY, FAR - 1)).toEqual([]);
    expect(book.takeDue(KEY, FAR).map(({ id }) => id)).toEqual(['u-1-ttl']);
    expect(book.takeDue(KEY, FAR + 9).map(({ id }) => id)).toEqual(['u-1-idle']);
    expect(book.takeDue(KEY, FAR + 99)).toEqual([]);
  });

  it.each([
    ['its time', { dueAtMs: FAR, isNews: true }, FAR],
    ['the time when it was first seen, if that is later', { dueAtMs: NOW - 5_000, isNews: true }, NOW],
    ['its time, when it passed without a leader', { dueAtMs: NOW - 5_000, isNews: false }, NOW - 5_000],
  ])('counts lateness from %s', (_, { dueAtMs, isNews }, lateFromMs) => {
    const book = new DeadlineBook();
    book.set(KEY, [due(dueAtMs)], { nowMs: NOW, isNews });
    expect(book.hasErrands).toBe(dueAtMs > NOW);
    expect(book.find('u-1-ttl')?.lateFromMs).toBe(lateFromMs);
  });
});
