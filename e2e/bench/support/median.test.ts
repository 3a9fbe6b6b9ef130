import { expect, it } from 'vitest';
import { computeMedian } from './median.ts';

it.each([
  { values: [3], median: 3 },
  { values: [9, 1, 2], median: 2 },
  { values: [100, 9, 20], median: 20 },
  { values: [4, 1, 3, 2], median: 2.5 },
  { values: [], median: 0 },
])('the median of $values is $median', ({ values, median }) => {
  expect(computeMedian(values)).toBe(median);
});
