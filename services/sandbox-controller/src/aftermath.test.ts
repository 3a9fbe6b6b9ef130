import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { Aftermath } from './aftermath.ts';
import { notebook } from './testing.ts';

const READY = { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' } as const;
const sandboxOf = (uid: string, generation: number): Sandbox =>
  notebook({
    metadata: { uid, generation, labels: { [labels.launchType]: 'warm' } },
    status: { observedGeneration: 1, conditions: [READY] },
  });

/** With so many Sandboxes adopted just now, named `uid-0` and so on. */
function aftermathOf(count: number) {
  const clock = new FakeClock();
  const aftermath = new Aftermath(clock);
  for (let i = 0; i < count; i += 1) {
    aftermath.observed({ old: sandboxOf(`uid-${i}`, 1), next: sandboxOf(`uid-${i}`, 2) });
  }
  const goneUntoldMs = (uid: string): number | undefined => {
    const untilMs = aftermath.untilMs(sandboxOf(uid, 2));
    return untilMs === undefined ? undefined : untilMs - clock.now();
  };
  return { aftermath, goneUntoldMs };
}

describe('the generation that an adoption makes goes untold', () => {
  it.each([
    ['for a moment when it is the only one', 1, 100],
    ['for longer the more are adopted with it', 20, 2_000],
    ['for five seconds at most', 500, 5_000],
  ])('%s', (_, count, ms) => {
    expect(aftermathOf(count).goneUntoldMs('uid-0')).toBe(ms);
  });

  it('for no longer than it was first granted', () => {
    const { aftermath, goneUntoldMs } = aftermathOf(1);
    expect(goneUntoldMs('uid-0')).toBe(100);
    for (const uid of ['b', 'c', 'd']) aftermath.observed({ old: sandboxOf(uid, 1), next: sandboxOf(uid, 2) });
    expect(goneUntoldMs('uid-0')).toBe(100);
  });

  it.each<[string, { old: Sandbox | undefined; next: Sandbox | undefined }]>([
    ['once it is told', { old: sandboxOf('uid-0', 2), next: sandboxOf('uid-0', 1) }],
    ['once it is gone', { old: sandboxOf('uid-0', 2), next: undefined }],
  ])('not at all %s', (_, change) => {
    const { aftermath, goneUntoldMs } = aftermathOf(1);
    aftermath.observed(change);
    expect(goneUntoldMs('uid-0')).toBeUndefined();
  });

  it('not at all when it was there before this process', () => {
    const { aftermath, goneUntoldMs } = aftermathOf(0);
    aftermath.observed({ old: undefined, next: sandboxOf('uid-0', 2) });
    expect(goneUntoldMs('uid-0')).toBeUndefined();
  });
});
