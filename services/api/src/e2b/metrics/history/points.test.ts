import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SandboxMetric } from '../../answer/schemas.ts';
import { decodePoint, encodePoint, findStep, thinPoints } from './points.ts';

const HOUR = 3_600;
const point = (timestampUnix: number, memUsed = 512): SandboxMetric => ({
  timestamp: new Date(timestampUnix * 1_000).toISOString(),
  timestampUnix,
  cpuCount: 2,
  cpuUsedPct: 12.5,
  memUsed,
  memTotal: 1_024,
  memCache: 64,
  diskUsed: 10,
  diskTotal: 100,
});

describe('the points of an answer', () => {
  it.each([
    [0, 5],
    [HOUR, 5],
    [HOUR + 1, 30],
    [12 * HOUR, 60],
    [24 * HOUR, 120],
    [7 * 24 * HOUR, 300],
    [Number.MAX_SAFE_INTEGER, 900],
  ])('of a range of %i s are %i s apart', (length, step) => {
    expect(findStep({ start: 0, end: length })).toBe(step);
  });

  it('are within the range, ascend, and are at most one per step', () => {
    const times = fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 200 });
    fc.assert(
      fc.property(times, fc.nat(100_000), fc.nat(100_000), (at, a, b) => {
        const range = { start: Math.min(a, b), end: Math.max(a, b) };
        const thinned = thinPoints(
          at.map((each) => point(each)),
          range,
        ).map(({ timestampUnix }) => timestampUnix);
        expect(thinned).toEqual(thinned.toSorted((one, other) => one - other));
        expect(thinned.every((each) => at.includes(each) && each >= range.start && each <= range.end)).toBe(true);
        const steps = thinned.map((each) => Math.floor(each / findStep(range)));
        expect(new Set(steps).size).toBe(steps.length);
        const isIn = (each: number): boolean => each >= range.start && each <= range.end;
        expect(thinned.length > 0).toBe(at.some(isIn));
      }),
    );
  });

  it('include the newest one', () => {
    expect(thinPoints([point(3), point(1), point(4)], { start: 0, end: 9 }).at(-1)).toEqual(point(4));
  });
});

describe('a stored point', () => {
  it('is read as it was written', () => {
    expect(decodePoint(7, encodePoint(point(7)))).toEqual(point(7));
  });

  it.each(['', '1,2,3', '1,2,3,4,5,6,x', '1,2,3,4,5,6,7,8'])('is left out if it is not ours: %s', (text) => {
    expect(decodePoint(7, text)).toBeUndefined();
  });
});
