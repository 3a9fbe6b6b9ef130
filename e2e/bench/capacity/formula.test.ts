import { describe, expect, it } from 'vitest';
import { fitLine, fitSmaller, predict } from './formula.ts';
import type { Point } from './formula.ts';

const listPoints = (values: Readonly<Record<number, number>>): readonly Point[] =>
  Object.entries(values).map(([sandboxes, value]) => ({ sandboxes: Number(sandboxes), value }));

describe('the line through what was measured', () => {
  it('is exact where the points are on a line', () => {
    const { base, perThousand } = fitLine(listPoints({ 5_000: 130, 10_000: 140, 20_000: 160 }));
    expect(base).toBeCloseTo(120, 9);
    expect(perThousand).toBeCloseTo(2, 9);
  });

  it('passes points that are off it with the least squares', () => {
    // By hand: the means are 2 and 5, and (-1 * -3 + 0 * 1 + 1 * 2) / 2 is 2.5.
    const { base, perThousand } = fitLine(listPoints({ 1_000: 2, 2_000: 6, 3_000: 7 }));
    expect(base).toBeCloseTo(0, 9);
    expect(perThousand).toBeCloseTo(2.5, 9);
  });

  it('is flat where nothing grows', () => {
    expect(fitLine(listPoints({ 100: 80, 200: 80, 400: 80 }))).toEqual({ base: 80, perThousand: 0 });
  });

  it('falls where values fall', () => {
    expect(fitLine(listPoints({ 1_000: 9, 2_000: 8 })).perThousand).toBeCloseTo(-1, 9);
  });
});

it('predicts base and slope for each thousand Sandboxes', () => {
  expect(predict({ base: 120, perThousand: 2 }, 30_000)).toBe(180);
  expect(predict({ base: 120, perThousand: 2 }, 500)).toBe(121);
});

describe('how far the line is off', () => {
  const smaller = { 5_000: 130, 10_000: 140, 20_000: 160 };

  it('comes from the largest size, which the line does not know', () => {
    const { line, predicted, measured, offPercent } = fitSmaller(listPoints({ ...smaller, 30_000: 200 }));
    expect(line.perThousand).toBeCloseTo(2, 9);
    expect(predicted).toBeCloseTo(180, 9);
    expect(measured).toBe(200);
    expect(offPercent).toBeCloseTo(-10, 9);
  });

  it('is positive where the prediction is too high', () => {
    expect(fitSmaller(listPoints({ ...smaller, 30_000: 150 })).offPercent).toBeCloseTo(20, 9);
  });
});
