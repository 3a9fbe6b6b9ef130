import type { PersistentVolumeClaim } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { decide } from './decide.ts';
import { lostNote } from './disk-notes.ts';
import type { Snapshot } from './snapshot.ts';
import { WORK, claimOf, notebook, podOf, published, snapshotOf } from './testing.ts';

const sandbox = notebook({ spec: { volumeClaimTemplates: [WORK] } });
const claim = (phase: 'Pending' | 'Bound' | 'Lost'): PersistentVolumeClaim => ({
  ...claimOf(sandbox),
  spec: { storageClassName: 'fast', volumeName: 'pv-7' },
  status: { phase },
});

/** The scheduler has not found a place for the Pod, and says why. */
function unscheduled(message: string, phase: 'Pending' | 'Bound' = 'Pending'): Snapshot {
  const conditions = [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable', message }];
  return snapshotOf({ sandbox, claims: [claim(phase)], ownedPods: [podOf(sandbox, { phase: 'Pending', conditions })] });
}
const warnings = (snapshot: Snapshot): string[] =>
  decide(snapshot).flatMap((step) =>
    step.kind === 'recordEvent' ? [`${step.note.reason}: ${step.note.message}`] : [],
  );

describe('a disk that keeps a Pod waiting', () => {
  const missing = unscheduled('storageclass.storage.k8s.io "fast" not found');
  const named = 'VolumeNotBound: PersistentVolumeClaim "work-notebook" of class "fast" is not bound';
  it.each([
    [
      'is told with its claim, its class and the reason',
      missing,
      [`${named}: storageclass.storage.k8s.io "fast" not found`],
    ],
    ['is told once', { ...missing, sandbox: published(missing) }, []],
    ['is not blamed when it is bound', unscheduled('node(s) had volume node affinity conflict', 'Bound'), []],
    ['is not blamed for something else', unscheduled('0/3 nodes are available: 3 Insufficient cpu.'), []],
  ])('%s', (...[, snapshot, expected]) => {
    expect(warnings(snapshot)).toEqual(expected);
  });
});

describe('a disk that lost its volume', () => {
  it.each([
    ['is told', claim('Bound'), claim('Lost'), 'VolumeLost'],
    ['is told by a controller that starts later', undefined, claim('Lost'), 'VolumeLost'],
    ['is told once', claim('Lost'), claim('Lost'), undefined],
    ['is no news when it is deleted', claim('Lost'), undefined, undefined],
    ['is not one that is bound', claim('Pending'), claim('Bound'), undefined],
  ])('%s', (...[, old, next, reason]) => {
    expect(lostNote(old, next)?.reason).toBe(reason);
  });

  it('is named with its class and its volume', () => {
    expect(lostNote(undefined, claim('Lost'))?.message).toContain(
      'PersistentVolumeClaim "work-notebook" of class "fast" is lost: its volume "pv-7" is gone',
    );
  });
});
