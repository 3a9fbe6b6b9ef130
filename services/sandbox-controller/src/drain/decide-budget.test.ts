import type { PodDisruptionBudget } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { buildBudget, decideBudget } from './decide-budget.ts';

const made = buildBudget('team-a');
const edited = (spec: PodDisruptionBudget['spec']): PodDisruptionBudget => ({
  ...made,
  spec: { ...made.spec, ...spec },
});
const ending = { ...made, metadata: { ...made.metadata, deletionTimestamp: '2026-01-01T12:00:00Z' } };

describe('the budget of a namespace', () => {
  it.each<readonly [string, boolean, PodDisruptionBudget | undefined, string]>([
    ['comes with the first memory', true, undefined, 'create'],
    ['stays with it', true, made, 'keep'],
    ['goes with the last', false, made, 'delete'],
    ['is not missed without any', false, undefined, 'keep'],
    ['is made anew when somebody lowered it', true, edited({ minAvailable: 0 }), 'delete'],
    [
      'is made anew when somebody lets unready Pods go',
      true,
      edited({ unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
      'delete',
    ],
    ['is made anew when somebody widened it', true, edited({ selector: {} }), 'delete'],
    ['is awaited while it goes', true, ending, 'keep'],
  ])('%s', (...[, isNeeded, present, expected]) => {
    expect(decideBudget(isNeeded, present)).toBe(expected);
  });

  it('allows no eviction of Pods with memory, and concerns no other ones', () => {
    expect(made.spec).toEqual({
      minAvailable: 2_147_483_647,
      selector: { matchLabels: { 'sandlot.dev/memory': 'protected' } },
    });
  });
});
