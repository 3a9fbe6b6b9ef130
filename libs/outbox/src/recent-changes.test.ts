import { expect, it } from 'vitest';
import type { Toy } from '../test/index.ts';
import { lifeTelling } from '../test/lives.ts';
import { RecentChanges } from './recent-changes.ts';

const toy = (state: number, uid = 'a'): Toy => ({ metadata: { uid, name: uid, namespace: 'default' }, state });
const count = (changes: RecentChanges<Toy>, nowMs: number): number => changes.take(nowMs).length;

it('changes that add no fact are not kept', () => {
  const changes = new RecentChanges<Toy>(lifeTelling);
  changes.add({ old: toy(1), next: toy(1) }, 0);
  expect(count(changes, 0)).toBe(0);
  changes.add({ old: toy(1), next: toy(2) }, 0);
  changes.add({ old: toy(2), next: toy(2, 'b') }, 0);
  changes.add({ old: toy(2), next: undefined }, 0);
  expect(count(changes, 0)).toBe(3);
});

it('are taken once, in their order', () => {
  const changes = new RecentChanges<Toy>(lifeTelling);
  for (const state of [1, 2, 3]) changes.add({ old: undefined, next: toy(state) }, state);
  expect(changes.take(9).map(({ next }) => next?.state)).toEqual([1, 2, 3]);
  expect(count(changes, 9)).toBe(0);
});

it('the oldest go after 30 s, and when there are more than 5,000', () => {
  const changes = new RecentChanges<Toy>(lifeTelling);
  changes.add({ old: undefined, next: toy(1) }, 0);
  changes.add({ old: undefined, next: toy(2) }, 1);
  expect(changes.take(30_001).map(({ next }) => next?.state)).toEqual([2]);
  for (let state = 0; state < 5_002; state += 1) changes.add({ old: undefined, next: toy(state) }, 0);
  expect(
    changes
      .take(0)
      .map(({ next }) => next?.state)
      .slice(0, 1),
  ).toEqual([2]);
});
