import { expect, it } from 'vitest';
import { computeFairDelayMs } from './fair-delay.ts';

it.each([
  ['one item waits for its own share', 1, undefined, 100],
  ['many items wait for one another', 30, undefined, 3_000],
  ['no item waits longer than the longest delay', 1_000, undefined, 5_000],
  ['no item waits less than the least delay', 1, 2_000, 2_000],
  ['no item waits without others when there is no least delay', 0, undefined, 0],
])('%s', (...[, count, leastMs, expected]) => {
  expect(computeFairDelayMs(count, { perItemMs: 100, longestMs: 5_000, leastMs })).toBe(expected);
});
