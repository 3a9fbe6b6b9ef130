import { describe, expect, it } from 'vitest';
import { findCondition, creates, members, NOW, snapshot, getStatus, steps } from '../../test/builders.ts';
import type { SnapshotParts } from '../../test/builders.ts';
import { decide } from '../decide.ts';
import { addAdoption, needsInterruption, restartPause } from './adoption-pause.ts';
import type { Adoptions } from './adoption-pause.ts';
import { decideRefill } from './decide-refill.ts';
import type { RefillInput } from './decide-refill.ts';
import { refillTokensAt } from './tokens.ts';

const DELAY = { delay: '250ms' };

/** A pool of ten with five Ready members, after adoptions at these moments. */
function after(moments: readonly number[], rest: Partial<RefillInput> = {}): RefillInput {
  const { refill } = rest;
  let adoptions: Adoptions | undefined;
  for (const moment of moments) adoptions = addAdoption(adoptions, refill, moment);
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
    ['starts at once without adoptions', after([]), 5],
    ['starts at once after an adoption', after([0], { nowMs: 0 }), 5],
    ['starts at once during a burst of adoptions', after(every(4, 400), { nowMs: 400 }), 5],
    ['pauses for refill.delay', after([0], { refill: DELAY, nowMs: 249 }), 0],
    ['starts after refill.delay', after([0], { refill: DELAY, nowMs: 250 }), 5],
    ['pauses for refill.delay again after each adoption', after([0, 200], { refill: DELAY, nowMs: 400 }), 0],
    ['pauses for at most ten delays', after(every(100, 2_400), { refill: DELAY, nowMs: 2_499 }), 0],
    [
      'starts after ten delays although adoptions continue',
      after(every(100, 2_400), { refill: DELAY, nowMs: 2_500 }),
      5,
    ],
    ['pauses for refill.delay although no member is Ready', after([0], { refill: DELAY, nowMs: 100, ready: 0 }), 0],
    ['waits for the back-off after a failure', after([], { notBeforeMs: 10, nowMs: 9 }), 0],
    [
      'is limited by refill.maxInFlight, with the members that are starting',
      after([], { refill: { maxInFlight: 4 }, starting: 1 }),
      3,
    ],
    [
      'is limited by the installation for a pool without refill.maxInFlight',
      after([], { maxInFlight: 3, starting: 1 }),
      2,
    ],
    [
      'is limited by the pool rather than by the installation',
      after([], { refill: { maxInFlight: 4 }, maxInFlight: 2, starting: 1 }),
      3,
    ],
    ['is limited by refill.maxPerSecond', after([], { refill: { maxPerSecond: 2 } }), 2],
    ['is limited by the tokens left', after([], { refill: { maxPerSecond: 4 }, tokens: { left: 0, atMs: -500 } }), 2],
    ['creates nothing without a token', after([], { refill: { maxPerSecond: 4 }, tokens: { left: -3, atMs: 0 } }), 0],
  ])('%s', (_, input, count) => {
    expect(decideRefill(input).count).toBe(count);
  });

  it.each<readonly [string, RefillInput, number | undefined]>([
    ['at the end of refill.delay', after([0], { refill: DELAY, nowMs: 50 }), 200],
    ['at the next token', after([], { refill: { maxPerSecond: 4 }, tokens: { left: 0, atMs: 0 } }), 250],
    [
      'at the first token after an overdraft',
      after([], { refill: { maxPerSecond: 4 }, tokens: { left: -3, atMs: 0 } }),
      1_000,
    ],
    ['at the end of the back-off', after([], { notBeforeMs: 700 }), 700],
    ['at no time when it creates all missing members', after([]), undefined],
    ['at no time while the limit of starting members is reached', after([], { starting: 300 }), undefined],
  ])('is decided again %s', (_, input, waitMs) => {
    expect(decideRefill(input).waitMs).toBe(waitMs);
  });

  it.each([
    [5, 2, 4, true],
    [6, 2, 4, false],
  ])('with %i Ready, %i starting and %i missing members is short: %s', (...[ready, starting, missing, isShort]) => {
    expect(decideRefill(after([0], { nowMs: 1_000, ready, starting, missing })).isShort).toBe(isShort);
  });

  it('yields to claims, except after an exhausted pause', () => {
    expect(decideRefill(after([0], { refill: DELAY, nowMs: 250 })).yields).toBe(true);
    expect(decideRefill(after(every(100, 2_500), { refill: DELAY, nowMs: 2_505 })).yields).toBe(false);
  });

  it('is interrupted by refill.delay alone', () => {
    const adoptions = (moments: readonly number[], refill?: RefillInput['refill']) =>
      after(moments, { refill }).adoptions;
    expect(needsInterruption(adoptions(every(4, 200)), undefined, 200)).toBe(false);
    expect(needsInterruption(adoptions([0], DELAY), DELAY, 1)).toBe(true);
    expect(needsInterruption(adoptions([0], DELAY), DELAY, 250)).toBe(false);
  });

  it('starts after the longest pause, however many claims arrive before it does', () => {
    expect(decideRefill(after(every(100, 3_000), { refill: DELAY, nowMs: 3_001 })).count).toBe(5);
    const { adoptions } = after(every(100, 3_000), { refill: DELAY });
    const restarted = restartPause(adoptions, 3_002);
    expect(decideRefill(after([], { refill: DELAY, adoptions: restarted, nowMs: 3_003 })).count).toBe(0);
  });

  it('never creates more members in a second than refill.maxPerSecond', () => {
    const refill = { maxPerSecond: 7 };
    let tokens = refillTokensAt(undefined, refill, 0);
    const made: number[] = [];
    for (let nowMs = 0; nowMs < 5_000; nowMs += 10) {
      const { count } = decideRefill(after([], { refill, missing: 1_000, tokens, nowMs }));
      const left = refillTokensAt(tokens, refill, nowMs);
      tokens = left === undefined ? undefined : { ...left, left: left.left - count };
      for (let n = 0; n < count; n += 1) made.push(nowMs);
    }
    // A burst of one second's worth, then the rate.
    expect(made.length).toBeGreaterThanOrEqual(7 + 7 * 4);
    expect(made.length).toBeLessThanOrEqual(7 + 7 * 5);
  });
});

describe('a pool that refill.delay holds', () => {
  const parts: SnapshotParts = {
    replicas: 3,
    members: members(2),
    spec: { refill: DELAY },
    history: { adoptions: { firstMs: 999_900, lastMs: 999_900 } },
  };

  it('reports RefillHeld with its end, and requeues for then', () => {
    expect(creates(decide(snapshot(parts)))).toBe(0);
    expect(findCondition(parts, 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'RefillHeld',
      message: '2 members, 2 Ready, 3 wanted; the refill waits until adoptions pause for 250ms',
    });
    expect(getStatus(parts).refillHeldUntil).toBe(new Date(NOW + 1_000).toISOString().replace('.000', ''));
    expect(steps(decide(snapshot(parts)), 'requeue').map(({ afterMs }) => afterMs)).toContain(150);
  });
});
