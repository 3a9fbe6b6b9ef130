import { describe, expect, it } from 'vitest';
import type { Rate } from '@sandlot/std';
import { isBurst, withBurstEvent } from './burst.ts';

function findRate(eventsPerSecond: number, forMs: number): Rate | undefined {
  let rate: Rate | undefined;
  const gapMs = 1_000 / eventsPerSecond;
  for (let nowMs = 0; nowMs <= forMs; nowMs += gapMs) rate = withBurstEvent(rate, nowMs);
  return rate;
}

describe('a burst', () => {
  it.each([
    ['is not begun by one event', 1, 0, 0, false],
    ['is not 50 events a second, however long they last', 50, 10_000, 10_000, false],
    ['is 200 events a second', 200, 1_000, 1_000, true],
    ['is over a second after its last event', 200, 1_000, 2_000, false],
  ])('%s', (...[, perSecond, forMs, nowMs, expected]) => {
    expect(isBurst(findRate(perSecond, forMs), nowMs)).toBe(expected);
  });

  it('is not under way before the first event', () => {
    expect(isBurst(undefined, 0)).toBe(false);
  });
});
