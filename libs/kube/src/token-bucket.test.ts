import { describe, expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

describe('token bucket', () => {
  it.each<[string, number[], number[]]>([
    ['lets a burst through and spreads the rest', [0, 0, 0, 0], [0, 0, 100, 200]],
    ['fills while nobody takes', [0, 0, 1_000, 1_000, 1_000], [0, 0, 0, 0, 100]],
    ['never fills beyond a burst', [0, 1_000_000, 1_000_000, 1_000_000], [0, 0, 0, 100]],
    ['counts those who wait already', [0, 0, 0, 50], [0, 0, 100, 150]],
  ])('%s', (...[, takenAtMs, waitsMs]) => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 2 });
    expect(takenAtMs.map((nowMs) => Math.round(bucket.take(nowMs)))).toEqual(waitsMs);
  });
});
