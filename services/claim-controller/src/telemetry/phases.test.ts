import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeHeldMs, listPhasesOfBinding } from './phases.ts';

describe('the phases of a binding', () => {
  it('add up to the time from first sight to the binding', () => {
    const step = fc.double({ min: 0, max: 60_000, noNaN: true });
    fc.assert(
      fc.property(fc.tuple(step, step, step, step), ([queue, stock, commit, publish]) => {
        const picked = 5 + queue;
        const tried = picked + stock;
        const committed = tried + commit;
        const bound = committed + publish;
        const phases = listPhasesOfBinding(5, { picked, tried, committed, bound });
        const total = phases.reduce((sum, [, ms]) => sum + ms, 0);
        expect(total).toBeCloseTo(bound - 5, 6);
        expect(phases.every(([, ms]) => ms >= 0)).toBe(true);
      }),
    );
  });

  it('leave out the time for which the status was held', () => {
    const milestones = { picked: 1, tried: 2, committed: 4, released: 904, bound: 909 };
    expect(listPhasesOfBinding(0, milestones).at(-1)).toEqual(['publish', 5]);
    expect(computeHeldMs(milestones)).toBe(900);
  });

  it.each([
    ['nothing was seen', {}],
    ['an earlier process committed', { picked: 1, tried: 2, bound: 4 }],
    ['it is not bound', { picked: 1, tried: 2, committed: 3 }],
  ])('are not measured when %s', (_, milestones) => {
    expect(listPhasesOfBinding(0, milestones)).toEqual([]);
  });
});
