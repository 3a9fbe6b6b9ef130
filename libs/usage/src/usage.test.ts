import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertAmounts, multiplyRequests } from './amounts.ts';
import { BUCKET_MS, EMPTY_DAY, parseDayEntry, sumUsage } from './day-entry.ts';
import { DAY_MS, divideByDay, formatDay, getStartOfDay, listDays } from './days.ts';
import { isUsableInKey } from './entry-keys.ts';
import { listPoints } from './points.ts';

const START = Date.UTC(2030, 1, 27);
const spans = fc
  .tuple(fc.nat(40 * DAY_MS), fc.nat(40 * DAY_MS))
  .map(([from, length]) => ({ startMs: START + from, endMs: START + from + length }));

describe('days', () => {
  it('divide a span without a gap', () => {
    fc.assert(
      fc.property(spans, (span) => {
        const parts = [...divideByDay(span)];
        expect(parts.reduce((sum, [, length]) => sum + length, 0)).toBe(span.endMs - span.startMs);
        expect(parts.every(([, length]) => length > 0 && length <= DAY_MS)).toBe(true);
        const days = parts.map(([day]) => day);
        expect(days.every((day) => listDays(span.startMs, span.endMs).includes(day))).toBe(true);
      }),
    );
  });

  it('have names that sort, and from which they begin', () => {
    expect(listDays(START, START + 2 * DAY_MS)).toEqual(['20300227', '20300228', '20300301']);
    expect(getStartOfDay(formatDay(START + 5))).toBe(START);
  });
});

describe('points', () => {
  it('are a thousand at most, in order, cover the span, and leave out no start and no peak', () => {
    const buckets = fc.dictionary(fc.nat(287).map(String), fc.integer({ min: 1, max: 99 }), { maxKeys: 20 });
    fc.assert(
      fc.property(fc.nat(31), buckets, buckets, (days, peaks, starts) => {
        const span = { startMs: START, endMs: START + (days + 1) * DAY_MS };
        const entries = new Map([[formatDay(START), { ...EMPTY_DAY, peaks, starts }]]);
        const points = listPoints(entries, span);
        expect(points.length).toBeLessThanOrEqual(1_000);
        expect(points[0]?.atMs).toBe(START);
        const times = points.map(({ atMs }) => atMs);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        expect(Math.max(...points.map(({ concurrent }) => concurrent))).toBe(Math.max(0, ...Object.values(peaks)));
        const [first = 0, second = span.endMs] = times;
        const last = times.at(-1) ?? first;
        const lengths = times.map((atMs) => (atMs === last ? span.endMs - last : second - first));
        const counted = points.reduce((sum, { startRate }, at) => sum + (startRate * (lengths[at] ?? 0)) / 1_000, 0);
        expect(counted).toBeCloseTo(Object.values(starts).reduce((sum, each) => sum + each, 0));
      }),
    );
  });

  it('of a span within a bucket are one', () => {
    expect(listPoints(new Map(), { startMs: START + 1, endMs: START + BUCKET_MS - 1 })).toEqual([
      { atMs: START, concurrent: 0, startRate: 0 },
    ]);
  });
});

it('an entry that is not ours is none', () => {
  for (const text of ['', '{', '[]', '{"asOfMs":"now","usage":{}}', '{"asOfMs":1,"usage":{"a":{"runMs":1}}}']) {
    expect(parseDayEntry(text)).toBeUndefined();
  }
  expect(parseDayEntry(JSON.stringify(EMPTY_DAY))).toEqual(EMPTY_DAY);
});

it('amounts are seconds and GiB hours in answers', () => {
  const used = multiplyRequests({ cpu: 0.1, memoryBytes: 536_870_912 }, 3_600_000);
  expect(convertAmounts(sumUsage({ a: used, b: used }))).toEqual({
    sandboxSeconds: 7_200,
    cpuSeconds: 720,
    gibHours: 1,
  });
});

it.each([
  ['team-a', '0b9c7a1e-1', true],
  ['team.a', 'u', false],
  ['team-a', 'u.v', false],
  ['*', 'u', false],
  ['team-a', '>', false],
  ['', '', false],
])('namespace %j and UID %j are tokens of a key: %s', (namespace, uid, expected) => {
  expect(isUsableInKey(namespace, uid)).toBe(expected);
});
