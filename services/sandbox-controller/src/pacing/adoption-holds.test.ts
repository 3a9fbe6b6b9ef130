import { labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { AdoptionHolds } from './adoption-holds.ts';
import { notebook } from '../../test/builders.ts';

const READY = { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' } as const;
const getSandbox = (uid: string, generation: number): Sandbox =>
  notebook({
    metadata: { uid, generation, labels: { [labels.launchType]: 'warm' } },
    status: { observedGeneration: 1, conditions: [READY] },
  });

/** After `count` adoptions just now, of Sandboxes `uid-0` and so on. */
function holdsOf(count: number) {
  const clock = new FakeClock();
  const holds = new AdoptionHolds(clock);
  for (let i = 0; i < count; i += 1) {
    holds.onSandboxChange({ old: getSandbox(`uid-${i}`, 1), next: getSandbox(`uid-${i}`, 2) });
  }
  const statusHoldMs = (uid: string): number | undefined => {
    const sandbox = getSandbox(uid, 2);
    holds.grant(sandbox);
    const untilMs = holds.statusHoldUntilMs(sandbox);
    return untilMs === undefined ? undefined : untilMs - clock.now();
  };
  return { holds, statusHoldMs };
}

describe('the status write after an adoption is held', () => {
  it.each([
    ['for 100 ms after a single adoption', 1, 100],
    ['for longer, the more Sandboxes are adopted with it', 20, 2_000],
    ['for five seconds at most', 500, 5_000],
  ])('%s', (_, count, ms) => {
    expect(holdsOf(count).statusHoldMs('uid-0')).toBe(ms);
  });

  it('for no longer than first granted, when more adoptions follow', () => {
    const { holds, statusHoldMs } = holdsOf(1);
    expect(statusHoldMs('uid-0')).toBe(100);
    for (const uid of ['b', 'c', 'd']) holds.onSandboxChange({ old: getSandbox(uid, 1), next: getSandbox(uid, 2) });
    expect(statusHoldMs('uid-0')).toBe(100);
  });

  it('only once a pass has granted it', () => {
    expect(holdsOf(1).holds.statusHoldUntilMs(getSandbox('uid-0', 2))).toBeUndefined();
  });

  it.each<[string, { old: Sandbox | undefined; next: Sandbox | undefined }]>([
    ['once the generation is published', { old: getSandbox('uid-0', 2), next: getSandbox('uid-0', 1) }],
    ['once the Sandbox is gone', { old: getSandbox('uid-0', 2), next: undefined }],
  ])('not at all %s', (_, change) => {
    const { holds, statusHoldMs } = holdsOf(1);
    holds.onSandboxChange(change);
    expect(statusHoldMs('uid-0')).toBeUndefined();
  });

  it('not at all for an adoption before this process started', () => {
    const { holds, statusHoldMs } = holdsOf(0);
    holds.onSandboxChange({ old: undefined, next: getSandbox('uid-0', 2) });
    expect(statusHoldMs('uid-0')).toBeUndefined();
  });
});
