import { describe, expect, it } from 'vitest';
import { decideNext } from './decide-next.ts';

const NOW = 1_000_000;
const fail = (tries: number, failuresInRow = 0) => decideNext({ isSuccess: false, tries, failuresInRow, nowMs: NOW });

describe('after an attempt', () => {
  it('that succeeded a delivery has ended, and the receiver is up', () => {
    const next = decideNext({ isSuccess: true, tries: 4, failuresInRow: 30, nowMs: NOW });
    expect(next).toEqual({ status: 'succeeded', dueMs: undefined, failuresInRow: 0, coolUntilMs: 0 });
  });

  it('that failed there are three more, ten seconds apart, and then none', () => {
    const all = [1, 2, 3, 4].map((tries) => fail(tries));
    expect(all.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending', 'failed']);
    expect(all.map(({ dueMs }) => dueMs)).toEqual([NOW + 10_000, NOW + 10_000, NOW + 10_000, undefined]);
  });

  it.each([
    [7, 0],
    [8, 10_000],
    [9, 20_000],
    [12, 160_000],
    [13, 300_000],
    [10_000, 300_000],
  ])('that failed like %i before it the receiver is left alone for %i ms', (failuresInRow, coolMs) => {
    expect(fail(1, failuresInRow).coolUntilMs).toBe(coolMs === 0 ? 0 : NOW + coolMs);
  });
});
