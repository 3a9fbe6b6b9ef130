import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, bucketsFor } from './limiter.ts';

const buckets = () => bucketsFor({ ...DEFAULT_LIMITS, background: { perSecond: 10, burst: 2 } });

describe('rate limits', () => {
  it('let a burst through and space what follows, in the order it came', () => {
    const { background } = buckets();
    expect([1, 2, 3, 4, 5].map(() => background.take(0))).toEqual([0, 0, 100, 200, 300]);
  });

  it('recover with time, to the size of a burst at most', () => {
    const { background } = buckets();
    for (let n = 0; n < 4; n += 1) background.take(0);
    expect([1, 2, 3].map(() => background.take(60_000))).toEqual([0, 0, 100]);
  });

  it('take nothing from those who will not wait', () => {
    const { background } = buckets();
    const waits = [0, 0, 50, 50, 100].map((maxWaitMs) => background.take(0, maxWaitMs));
    expect(waits).toEqual([0, 0, Infinity, Infinity, 100]);
  });

  it('never let a claim wait behind refills', () => {
    const { background, claim } = buckets();
    for (let n = 0; n < 1_000; n += 1) background.take(0);
    expect(claim.take(0, 0)).toBe(0);
  });
});
