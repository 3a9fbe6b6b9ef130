import { findCondition, sandboxConditions } from '@sandlot/api-types';
import type { SandboxStatus } from '@sandlot/api-types';
import type { PersistentVolumeClaim } from '@sandlot/kube';
import { claimNames } from './pvcs.ts';
import type { Snapshot } from './snapshot.ts';
import type { EventNote } from './steps.ts';

/** What schedulers say when it is a disk that keeps a Pod waiting. */
const ABOUT_DISKS = /persistentvolume|storageclass|volume/i;

/**
 * Warnings about the disks that keep the Pod from being scheduled, in the words of the scheduler, when those are news.
 * Nobody else knows the reason: the claim itself stays Pending without one.
 */
export function unboundNotes({ sandbox, claims }: Snapshot, next: SandboxStatus): EventNote[] {
  const said = findCondition(next.conditions, sandboxConditions.podScheduled);
  const before = findCondition(sandbox.status?.conditions, sandboxConditions.podScheduled);
  if (said?.status !== 'False' || said.message === before?.message || !ABOUT_DISKS.test(said.message)) return [];
  return claimNames(sandbox)
    .map((name) => claims.get(name))
    .filter((claim) => claim !== undefined)
    .filter(({ status }) => status?.phase !== 'Bound')
    .map((claim) => ({
      type: 'Warning',
      reason: 'VolumeNotBound',
      message: `${nameOf(claim)} is not bound: ${said.message}`,
    }));
}

/** The warning about a disk that lost its volume, when that is news; a Pod may still be running on it. */
export function lostNote(
  old: PersistentVolumeClaim | undefined,
  next: PersistentVolumeClaim | undefined,
): EventNote | undefined {
  if (next?.status?.phase !== 'Lost' || old?.status?.phase === 'Lost') return undefined;
  const volume = `its volume "${next.spec.volumeName ?? ''}" is gone`;
  const hint = 'Delete the claim and the Pod to go on with an empty disk';
  return { type: 'Warning', reason: 'VolumeLost', message: `${nameOf(next)} is lost: ${volume}. ${hint}` };
}

function nameOf({ metadata, spec }: PersistentVolumeClaim): string {
  const storageClass = spec.storageClassName === undefined ? 'the default class' : `class "${spec.storageClassName}"`;
  return `PersistentVolumeClaim "${metadata.name ?? ''}" of ${storageClass}`;
}
