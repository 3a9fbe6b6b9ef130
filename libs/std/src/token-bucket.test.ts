import { describe, expect, it } from 'vitest';
import { computeSecondsUntil, TokenBucket, computeTokens } from './token-bucket.ts';

describe('token bucket', () => {
  it.each<[string, number[], number[]]>([
    ['lets a burst through and spreads the rest', [0, 0, 0, 0], [0, 0, 100, 200]],
    ['fills while no token is taken', [0, 0, 1_000, 1_000, 1_000], [0, 0, 0, 0, 100]],
    ['never fills beyond a burst', [0, 1_000_000, 1_000_000, 1_000_000], [0, 0, 0, 100]],
    ['counts the callers that wait already', [0, 0, 0, 50], [0, 0, 100, 150]],
  ])('%s', (...[, takenAtMs, waitsMs]) => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 2 });
    expect(takenAtMs.map((nowMs) => Math.round(bucket.take(nowMs)))).toEqual(waitsMs);
  });

  it('takes nothing for a caller that does not wait long enough', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 1 });
    expect([bucket.take(0), bucket.take(0, 50), bucket.take(50, 50), bucket.take(100)]).toEqual([0, Infinity, 50, 100]);
  });
});

describe('the tokens of a bucket', () => {
  const rate = { perSecond: 10, burst: 5 };

  it.each([
    ['are as many as a burst at first', undefined, 1_000, 5],
    ['fill evenly', { left: 1, atMs: 1_000 }, 1_150, 2.5],
    ['never exceed a burst', { left: 4, atMs: 1_000 }, 2_000, 5],
    ['pay what is owed first', { left: -2, atMs: 1_000 }, 1_100, -1],
    ['do not shrink when time goes backwards', { left: 3, atMs: 1_000 }, 900, 3],
  ])('%s', (...[, tokens, nowMs, left]) => {
    expect(computeTokens(tokens, rate, nowMs)).toEqual({ left, atMs: nowMs });
  });

  it.each([
    ['a token that is there', 1, 1, 0],
    ['a token that is not there yet', 0.5, 1, 0.05],
    ['several tokens', 1, 5, 0.4],
    ['a token while others are owed', -1, 1, 0.2],
  ])('say how long it takes to get %s', (...[, left, count, seconds]) => {
    expect(computeSecondsUntil({ left, atMs: 0 }, rate, count)).toBeCloseTo(seconds, 12);
  });
});
