import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addFact, computeRunMs, computeUsage, findStartMs, NEW_RECORD } from './record.ts';
import type { UsageFact, UsageRecord } from './record.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const ALWAYS = { startMs: 0, endMs: 1_000 * DAY };
const requests = { cpu: 0.5, memoryBytes: 2_147_483_648 };
const bound = (atMs: number): UsageFact => ({ kind: 'bound', atMs, apiKey: 'ab12', requests });
const on = (atMs: number): UsageFact => ({ kind: 'on', atMs });
const off = (atMs: number): UsageFact => ({ kind: 'off', atMs });
const deleted = (atMs: number): UsageFact => ({ kind: 'deleted', atMs });

const build = (facts: readonly UsageFact[]): UsageRecord => facts.reduce(addFact, NEW_RECORD);
const sumRunMs = (record: UsageRecord, limits = ALWAYS): number =>
  [...computeRunMs(record, limits).values()].reduce((sum, each) => sum + each, 0);

describe('the running time of a Sandbox', () => {
  it.each<[string, readonly UsageFact[], number]>([
    ['begins when it is Ready, and ends when it is deleted', [bound(1), on(5), deleted(9)], 4],
    ['of a warm one begins when a claim adopts it', [on(1), bound(5), deleted(9)], 4],
    ['has a pause for a suspension', [bound(0), on(1), off(3), on(6), deleted(9)], 5],
    ['ends once what ran has finished', [bound(0), on(1), off(4), deleted(9)], 3],
    ['is nothing without a claim', [on(1), deleted(9)], 0],
    ['is nothing of one that was never Ready', [bound(1), deleted(9)], 0],
    ['is nothing of one that was Ready and finished in one second', [bound(0), on(5), off(5)], 0],
    ['goes on while it becomes Ready again', [bound(0), on(1), on(4), deleted(9)], 8],
    ['ends with the earlier of two deletions', [bound(0), on(1), deleted(9), deleted(7)], 6],
  ])('%s', (_, facts, expected) => {
    expect(sumRunMs(build(facts))).toBe(expected);
  });

  it('of one that still runs goes up to now', () => {
    expect(sumRunMs(build([bound(0), on(DAY)]), { startMs: 0, endMs: DAY + 7 })).toBe(7);
  });

  it('ends when it was last there, if it is gone without an event, and with the event once that comes', () => {
    const gone = { ...build([bound(0), on(1)]), goneMs: 5 };
    expect(sumRunMs(gone)).toBe(4);
    expect(sumRunMs(addFact(gone, deleted(6)))).toBe(5);
  });

  it('is divided among days of UTC', () => {
    const days = computeRunMs(build([bound(0), on(DAY - 10), deleted(2 * DAY + 5)]), ALWAYS);
    expect(Object.fromEntries(days)).toEqual({ '19700101': 10, '19700102': DAY, '19700103': 5 });
  });

  it('counts CPUs and memory as requested', () => {
    const record = build([bound(0), on(0), deleted(1_000)]);
    expect(computeUsage(record, 1_000)).toEqual({ runMs: 1_000, cpuMs: 500, gibMs: 2_000 });
  });
});

const times = fc.integer({ min: 0, max: 3 * DAY });
const lives = fc.record({
  boundMs: times,
  changes: fc.array(fc.tuple(times, fc.boolean()), { maxLength: 20 }),
  deletedMs: fc.option(times, { nil: undefined }),
});

describe('facts about a Sandbox', () => {
  it('have one sum in any order and any number', () => {
    fc.assert(
      fc.property(lives, fc.infiniteStream(fc.nat()), ({ boundMs, changes, deletedMs }, random) => {
        const facts = [
          bound(boundMs),
          ...changes.map(([atMs, isOn]) => (isOn ? on(atMs) : off(atMs))),
          ...(deletedMs === undefined ? [] : [deleted(deletedMs)]),
        ];
        const next = (): number => (random.next() as IteratorYieldResult<number>).value;
        const repeated = [...facts, ...facts.filter(() => next() % 2 === 0)];
        const shuffled = repeated.map((fact) => ({ fact, rank: next() })).toSorted((a, b) => a.rank - b.rank);
        expect(build(shuffled.map(({ fact }) => fact))).toEqual(build(facts));
      }),
    );
  });

  it('that are many become a sum, which repetitions do not change', () => {
    const cycles = Array.from({ length: 500 }, (_, index) => [on(index * MINUTE), off(index * MINUTE + 10_000)]).flat();
    const record = build([bound(0), ...cycles]);
    expect(record.on.length + record.off.length).toBeLessThanOrEqual(64);
    expect(JSON.stringify(record).length).toBeLessThan(4_096);
    expect(sumRunMs(record)).toBe(500 * 10_000);
    expect(findStartMs(record)).toBe(0);
    expect(cycles.reduce(addFact, record)).toEqual(record);
  });

  it('of an earlier release, which name neither key nor requests, leave these to later ones', () => {
    const record = build([{ kind: 'bound', atMs: 3, apiKey: '', requests: { cpu: 0, memoryBytes: 0 } }, bound(5)]);
    expect(record).toMatchObject({ boundMs: 3, apiKey: 'ab12', requests });
  });
});
