import { describe, expect, it } from 'vitest';
import { conditionOf, creates, members, NOW, snapshot, statusOf, steps } from '../../test/builders.ts';
import type { SnapshotParts } from '../../test/builders.ts';
import { decide } from '../decide.ts';
import { afterTurn, interrupts, refilling, refillTokensAt, withAdoption } from './decide-refill.ts';
import type { Adoptions, RefillInput } from './decide-refill.ts';

const DELAY = { delay: '250ms' };

/** Adoptions at these moments, and what a pool of ten that lacks five does at `nowMs`. */
function after(moments: readonly number[], rest: Partial<RefillInput> = {}): RefillInput {
  const { refill } = rest;
  let adoptions: Adoptions | undefined;
  for (const moment of moments) adoptions = withAdoption(adoptions, refill, moment);
  return {
    refill,
    missing: 5,
    ready: 5,
    starting: 0,
    adoptions,
    tokens: undefined,
    notBeforeMs: undefined,
    nowMs: 0,
    ...rest,
  };
}

const every = (ms: number, untilMs: number): number[] => Array.from({ length: untilMs / ms + 1 }, (_, n) => n * ms);

describe('a refill', () => {
  it.each<readonly [string, RefillInput, number]>([
    ['starts at once where nobody has adopted', after([]), 5],
    ['lets a claim pass first', after([0], { nowMs: 20 }), 0],
    ['starts when claims have been silent for 30 ms', after([0], { nowMs: 30 }), 5],
    ['starts at once when the pool is empty', after([0], { nowMs: 1, ready: 0 }), 5],
    ['goes on under steady traffic', after(every(20, 200), { nowMs: 205 }), 5],
    ['waits for the end of a burst', after(every(4, 400), { nowMs: 405 }), 0],
    ['waits no longer than three seconds for the end of a burst', after(every(4, 2_996), { nowMs: 3_000 }), 5],
    ['is held for its delay', after([0], { refill: DELAY, nowMs: 249 }), 0],
    ['starts when its delay is over', after([0], { refill: DELAY, nowMs: 250 }), 5],
    ['is held again by each adoption', after([0, 200], { refill: DELAY, nowMs: 400 }), 0],
    ['is held for ten delays', after(every(100, 2_400), { refill: DELAY, nowMs: 2_499 }), 0],
    ['starts after ten delays in spite of adoptions', after(every(100, 2_400), { refill: DELAY, nowMs: 2_500 }), 5],
    ['is held for its delay although the pool is empty', after([0], { refill: DELAY, nowMs: 100, ready: 0 }), 0],
    ['waits after a failure', after([], { notBeforeMs: 10, nowMs: 9 }), 0],
    ['is limited by what is starting', after([], { refill: { maxInFlight: 4 }, starting: 1 }), 3],
    ['is limited by the installation', after([], { maxInFlight: 3, starting: 1 }), 2],
    ['is limited by the pool first', after([], { refill: { maxInFlight: 4 }, maxInFlight: 2, starting: 1 }), 3],
    ['is limited by its bucket', after([], { refill: { maxPerSecond: 2 } }), 2],
    [
      'is limited by what is left in its bucket',
      after([], { refill: { maxPerSecond: 4 }, tokens: { left: 0, atMs: -500 } }),
      2,
    ],
    [
      'makes nothing with an empty bucket',
      after([], { refill: { maxPerSecond: 4 }, tokens: { left: -3, atMs: 0 } }),
      0,
    ],
  ])('%s', (_, input, count) => {
    expect(refilling(input).count).toBe(count);
  });

  it.each<readonly [string, RefillInput, number | undefined]>([
    ['when the pause ends', after([0], { nowMs: 10 }), 20],
    ['when the delay ends', after([0], { refill: DELAY, nowMs: 50 }), 200],
    ['when the next token is there', after([], { refill: { maxPerSecond: 4 }, tokens: { left: 0, atMs: 0 } }), 250],
    ['when a debt of tokens is paid', after([], { refill: { maxPerSecond: 4 }, tokens: { left: -3, atMs: 0 } }), 1_000],
    ['when the next try is due', after([], { notBeforeMs: 700 }), 700],
    ['at no particular time when all is asked for', after([]), undefined],
    ['at no particular time while others are starting', after([], { starting: 300 }), undefined],
  ])('is looked at again %s', (_, input, waitMs) => {
    expect(refilling(input).waitMs).toBe(waitMs);
  });

  it.each([
    [5, 2, 4, true],
    [6, 2, 4, false],
  ])('with %i Ready, %i starting and %i missing is short of members: %s', (...[ready, starting, missing, isShort]) => {
    expect(refilling(after([0], { nowMs: 1_000, ready, starting, missing })).isShort).toBe(isShort);
  });

  it('yields to claims, except when it is its turn or the pool is empty', () => {
    expect(refilling(after([0], { nowMs: 30 })).yields).toBe(true);
    expect(refilling(after(every(20, 200), { nowMs: 205 })).yields).toBe(false);
    expect(refilling(after([0], { nowMs: 1, ready: 0 })).yields).toBe(false);
  });

  it('under way is stopped by a burst and by a delay of its own, not by single claims', () => {
    const adoptions = (moments: readonly number[], refill?: RefillInput['refill']) =>
      after(moments, { refill }).adoptions;
    expect(interrupts(adoptions([0]), undefined, 1)).toBe(false);
    expect(interrupts(adoptions(every(4, 200)), undefined, 201)).toBe(true);
    expect(interrupts(adoptions([0], DELAY), DELAY, 1)).toBe(true);
    expect(interrupts(adoptions([0], DELAY), DELAY, 250)).toBe(false);
  });

  it('keeps up with 50 claims a second: what is adopted in a second is asked for in it', () => {
    let [adoptions, missing, asked] = [undefined as Adoptions | undefined, 0, 0];
    for (let nowMs = 0; nowMs < 10_000; nowMs += 5) {
      if (nowMs % 20 === 0) {
        adoptions = withAdoption(adoptions, undefined, nowMs);
        missing += 1;
      }
      const { count } = refilling(after([], { adoptions, missing, ready: 100, nowMs }));
      if (count > 0) adoptions = afterTurn(adoptions, nowMs);
      missing -= count;
      asked += count;
      expect(missing).toBeLessThanOrEqual(12);
    }
    expect(asked).toBeGreaterThanOrEqual(488);
  });

  it('has its turn after the longest pause, however many claims come before it takes it', () => {
    expect(refilling(after(every(20, 400), { nowMs: 401 })).count).toBe(5);
    expect(refilling(after(every(4, 3_200), { nowMs: 3_201 })).count).toBe(5);
    const { adoptions } = after(every(20, 400));
    expect(refilling(after([], { adoptions: afterTurn(adoptions, 402), nowMs: 403 })).count).toBe(0);
  });

  it('never makes more than its rate allows, in any second', () => {
    const refill = { maxPerSecond: 7 };
    let tokens = refillTokensAt(undefined, refill, 0);
    const made: number[] = [];
    for (let nowMs = 0; nowMs < 5_000; nowMs += 10) {
      const { count } = refilling(after([], { refill, missing: 1_000, tokens, nowMs }));
      const left = refillTokensAt(tokens, refill, nowMs);
      tokens = left === undefined ? undefined : { ...left, left: left.left - count };
      for (let n = 0; n < count; n += 1) made.push(nowMs);
    }
    // A burst of one second's worth, then the rate.
    expect(made.length).toBeGreaterThanOrEqual(7 + 7 * 4);
    expect(made.length).toBeLessThanOrEqual(7 + 7 * 5);
  });
});

describe('a pool whose refill is held', () => {
  const parts: SnapshotParts = {
    replicas: 3,
    members: members(2),
    spec: { refill: DELAY },
    memory: { adoptions: { firstMs: 999_900, lastMs: 999_900, pace: { perSecond: 0, atMs: 999_900 } } },
  };

  it('says so, until when, and looks again then', () => {
    expect(creates(decide(snapshot(parts)))).toBe(0);
    expect(conditionOf(parts, 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'RefillHeld',
      message: '2 members, 2 Ready, 3 wanted; the refill waits until adoptions pause for 250ms',
    });
    expect(statusOf(parts).refillHeldUntil).toBe(new Date(NOW + 1_000).toISOString().replace('.000', ''));
    expect(steps(decide(snapshot(parts)), 'wait').map(({ ms }) => ms)).toContain(150);
  });

  it('says nothing of pauses that nobody asked for', () => {
    const short = {
      ...parts,
      spec: {},
      memory: { adoptions: { firstMs: 999_990, lastMs: 999_990, pace: { perSecond: 0, atMs: 0 } } },
    };
    expect(creates(decide(snapshot(short)))).toBe(0);
    expect(conditionOf(short, 'Progressing')).toMatchObject({ status: 'True', reason: 'ScalingUp' });
    expect(statusOf(short).refillHeldUntil).toBeUndefined();
  });
});
