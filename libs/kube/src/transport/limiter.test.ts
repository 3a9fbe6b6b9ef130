import { switchOffPacing } from '@sandlot/pacing';
import type { TokenBucket } from '@sandlot/std';
import { describe, expect, it } from 'vitest';
import { createBuckets, buildDefaultLimits, splitLimits } from './limiter.ts';

const buckets = () => createBuckets({ ...buildDefaultLimits(), background: { perSecond: 10, burst: 2 } });

describe('rate limits', () => {
  it('take no token for a call that cannot wait long enough', () => {
    const { background } = buckets();
    const waits = [0, 0, 50, 50, 100].map((maxWaitMs) => background.take(0, maxWaitMs));
    expect(waits).toEqual([0, 0, Infinity, Infinity, 100]);
  });

  it('of an installation limit all requests together and give each priority its share', () => {
    const limits = splitLimits({ perSecond: 180, burst: 36 });
    expect(limits.claim).toEqual({ perSecond: 100, burst: 20 });
    expect(limits.normal).toEqual({ perSecond: 30, burst: 6 });
    expect(limits.background).toEqual({ perSecond: 50, burst: 10 });
  });

  it('of an installation allow each priority a burst of at least one request', () => {
    expect(Object.values(splitLimits({ perSecond: 1, burst: 1 })).map(({ burst }) => burst)).toEqual([1, 1, 1]);
  });

  it.each([
    ['2,000 for claims, 600 normal and 1,000 in the background with pacing.apiRequests', '', [2_000, 600, 1_000]],
    ['all without it', 'apiRequests', [5_000, 5_000, 5_000]],
  ])('let of 5,000 requests of each priority pass at once: %s', (_, off, wanted) => {
    using _off = switchOffPacing(off);
    const { claim, normal, background } = createBuckets(buildDefaultLimits());
    const countPassing = (bucket: TokenBucket): number =>
      Array.from({ length: 5_000 }, () => bucket.take(0, 0)).filter((waitMs) => waitMs === 0).length;
    expect([claim, normal, background].map(countPassing)).toEqual(wanted);
  });

  it('never make a claim wait behind refills', () => {
    const { background, claim } = buckets();
    for (let n = 0; n < 1_000; n += 1) background.take(0);
    expect(claim.take(0, 0)).toBe(0);
  });
});
