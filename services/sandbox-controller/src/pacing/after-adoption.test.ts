import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { Aftermath, courtesyMs } from './after-adoption.ts';
import type { Plan } from '../plan/steps.ts';
import { NOW_MS, notebook, podOf, snapshotOf } from '../../test/builders.ts';

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

/** Adoptions `everyMs` apart, the last one just now, named `uid-0` and so on. */
async function adoptionsEvery(everyMs: number, count: number) {
  const clock = new FakeClock();
  const aftermath = new Aftermath(clock);
  for (let i = 0; i < count; i += 1) {
    if (i > 0) await clock.advance(everyMs);
    aftermath.observed({ old: sandboxOf(`uid-${i}`, 1), next: sandboxOf(`uid-${i}`, 2) });
  }
  const yieldsMs = (uid: string): number | undefined => {
    const untilMs = aftermath.yieldsUntilMs(sandboxOf(uid, 2));
    return untilMs === undefined ? undefined : untilMs - clock.now();
  };
  return { clock, yieldsMs };
}

describe('the pod of an adopted Sandbox goes on as it is', () => {
  it.each([
    ['not at all when adoptions come one by one', 200, 10, undefined],
    ['not at all under steady traffic of 50 a second', 20, 200, undefined],
    ['for a moment in a burst', 5, 200, 300],
    ['for three seconds at most, however long the burst', 5, 580, 105],
    ['no longer than three seconds', 5, 700, -495],
  ])('%s', async (...[, everyMs, count, ms]) => {
    const { yieldsMs } = await adoptionsEvery(everyMs, count);
    expect(yieldsMs('uid-0')).toBe(ms);
  });

  it('not at all once the burst is over', async () => {
    const { clock, yieldsMs } = await adoptionsEvery(5, 200);
    await clock.advance(300);
    expect(yieldsMs('uid-199')).toBeUndefined();
  });
});

describe('claims are served before', () => {
  const patch = { kind: 'patchPod', phase: 'pod', pod: podOf(notebook()), patch: {} } as const;
  it.each<[string, Plan, number | undefined, number]>([
    ['labels of a pod, in a burst', [patch], NOW_MS + 300, 300],
    ['none of them otherwise', [patch], undefined, 0],
    ['none of them after the longest wait', [patch], NOW_MS - 500, 0],
    ['no image that a claim waits for', [{ ...patch, image: 'x' }], NOW_MS + 300, 0],
    ['no status', [patch, { kind: 'patchStatus', patch: {} }], NOW_MS + 300, 0],
  ])('%s', (...[, plan, yieldsUntilMs, ms]) => {
    expect(courtesyMs(snapshotOf({ yieldsUntilMs }), plan)).toBe(ms);
  });
});
