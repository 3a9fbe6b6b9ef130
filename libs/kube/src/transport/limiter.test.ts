import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, Limiter } from './limiter.ts';

const limits = { ...DEFAULT_LIMITS, background: { perSecond: 10, burst: 2 } };

describe('Limiter', () => {
  it('lets a burst through and spaces what follows, in the order it came', () => {
    const limiter = new Limiter(new FakeClock(), limits);
    const waits = Array.from({ length: 5 }, () => limiter.take('background', 60_000));
    expect(waits).toEqual([0, 0, 100, 200, 300]);
  });

  it('fills up again with time, to the size of a burst at most', async () => {
    const clock = new FakeClock();
    const limiter = new Limiter(clock, limits);
    for (let n = 0; n < 4; n += 1) limiter.take('background', 60_000);
    await clock.advance(60_000);
    expect([1, 2, 3].map(() => limiter.take('background', 60_000))).toEqual([0, 0, 100]);
  });

  it('takes nothing from the bucket when the wait would be too long', () => {
    const limiter = new Limiter(new FakeClock(), limits);
    const waits = [0, 0, 50, 50, 100].map((maxWaitMs) => limiter.take('background', maxWaitMs));
    expect(waits).toEqual([0, 0, undefined, undefined, 100]);
  });

  it('never lets a claim wait behind refills', () => {
    const limiter = new Limiter(new FakeClock(), limits);
    for (let n = 0; n < 1_000; n += 1) limiter.take('background', Infinity);
    expect(limiter.take('claim', 0)).toBe(0);
  });
});
