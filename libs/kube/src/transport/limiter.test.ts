import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, bucketsFor } from './limiter.ts';

const buckets = () => bucketsFor({ ...DEFAULT_LIMITS, background: { perSecond: 10, burst: 2 } });

describe('rate limits', () => {
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
