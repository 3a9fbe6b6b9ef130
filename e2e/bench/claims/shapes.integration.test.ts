import { expect, it } from 'vitest';
import { listArrivalsMs } from './shapes.ts';

it('lets claims arrive at random moments around their rate, the same in every run', () => {
  const shape = { kind: 'poisson', perSecond: 20, claims: 1_200 } as const;
  const arrivals = listArrivalsMs(shape);
  expect(listArrivalsMs(shape)).toEqual(arrivals);
  expect(arrivals).toEqual([...arrivals].sort((a, b) => a - b));
  expect(arrivals.at(-1)).toBeGreaterThan(54_000);
  expect(arrivals.at(-1)).toBeLessThan(66_000);
  const perSecond = Map.groupBy(arrivals, (ms) => Math.floor(ms / 1_000));
  // A Poisson count varies by its root: some seconds have half the rate, and some half as much again.
  const counts = [...perSecond.values()].map(({ length }) => length);
  expect(Math.max(...counts)).toBeGreaterThan(28);
  expect(Math.min(...counts)).toBeLessThan(12);
});

it('lets claims arrive at an even rate', () => {
  expect(listArrivalsMs({ kind: 'rate', perSecond: 20, claims: 3 })).toEqual([0, 50, 100]);
});
