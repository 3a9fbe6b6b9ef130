import { describe, expect, it } from 'vitest';
import { decideNext } from './decide-next.ts';

const NOW = 1_000_000;
const fail = (tries: number, failingSinceMs?: number) =>
  decideNext({ isSuccess: false, tries, failingSinceMs, nowMs: NOW });

describe('after an attempt', () => {
  it('that succeeded a delivery has ended, and the receiver is up', () => {
    const next = decideNext({ isSuccess: true, tries: 4, failingSinceMs: 1, nowMs: NOW });
    expect(next).toEqual({ status: 'succeeded', dueMs: undefined, failingSinceMs: undefined, coolUntilMs: 0 });
  });

  it('that failed there are three more, ten seconds apart, and then none', () => {
    const all = [1, 2, 3, 4].map((tries) => fail(tries));
    expect(all.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending', 'failed']);
    expect(all.map(({ dueMs }) => dueMs)).toEqual([NOW + 10_000, NOW + 10_000, NOW + 10_000, undefined]);
  });

  it.each([
    [0, 0],
    [44_999, 0],
    [45_000, 22_500],
    [100_000, 50_000],
    [600_000, 300_000],
    [990_000, 300_000],
  ])('that failed a receiver that has failed for %i ms is left alone for %i ms', (failingMs, coolMs) => {
    const sinceMs = NOW - failingMs;
    const coolUntilMs = coolMs === 0 ? 0 : NOW + coolMs;
    expect(fail(1, sinceMs)).toMatchObject({ failingSinceMs: sinceMs, coolUntilMs });
  });

  it('that fails first the time of the failures begins', () => {
    expect(fail(1)).toMatchObject({ failingSinceMs: NOW, coolUntilMs: 0 });
  });
});
