import { findCondition } from '@sandlot/api-types';
import type { Condition, PersistentVolumeClaim } from '@sandlot/kube/objects';
import { listDiskNames } from '../disks/disk-names.ts';
import { isTerminating, findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Trouble } from '../plan/steps.ts';

/** Scheduling and provisioning take a moment; a Pod that is unscheduled for longer waits for a person. */
export const UNSCHEDULED_MS = 5_000;

/** Words of the scheduler when a Pod waits for a disk. */
const ABOUT_DISKS = /persistentvolume|storageclass|volume/i;

/** Disks that lost their volume, and disks that the Pod waits for. */
export function listDiskTroubles(snapshot: Snapshot): Trouble[] {
  return [...listDisks(snapshot).flatMap(listLostTroubles), ...listUnboundTroubles(snapshot)];
}

/** Disks without a volume, when the scheduler says that the Pod waits for one. */
export function listUnboundDisks(snapshot: Snapshot): PersistentVolumeClaim[] {
  const said = findUnscheduled(snapshot);
  if (said === undefined || !ABOUT_DISKS.test(said.message ?? '')) return [];
  return listDisks(snapshot).filter(({ status }) => status?.phase !== 'Bound' && status?.phase !== 'Lost');
}

/**
 * The cause is in the Events of the disk. They alone distinguish a storage class that rightly waits for the first Pod from
 * one that cannot provision. The message of the scheduler is second best.
 */
function listUnboundTroubles(snapshot: Snapshot): Trouble[] {
  const { lastTransitionTime = '', message = '' } = findUnscheduled(snapshot) ?? {};
  const sinceMs = Date.parse(lastTransitionTime);
  return listUnboundDisks(snapshot).map((disk) => ({
    key: `${disk.metadata.uid ?? ''}/unbound`,
    note: { type: 'Warning', reason: 'VolumeNotBound', message: `${formatName(disk)} has no volume` },
    ...(Number.isNaN(sinceMs) ? {} : { dueMs: sinceMs + UNSCHEDULED_MS }),
    causedBy: disk,
    otherwise: message,
  }));
}

/** Reported also while a Pod still runs on the disk. */
function listLostTroubles(disk: PersistentVolumeClaim): Trouble[] {
  const { metadata, spec, status } = disk;
  if (status?.phase !== 'Lost') return [];
  const volume = `its volume "${spec.volumeName ?? ''}" is gone`;
  const message = `${formatName(disk)} is lost: ${volume}. Delete the claim and the Pod to go on with an empty disk`;
  return [{ key: `${metadata.uid ?? ''}/lost`, note: { type: 'Warning', reason: 'VolumeLost', message } }];
}

function findUnscheduled(snapshot: Snapshot): Condition | undefined {
  const pod = findOnlyPod(snapshot);
  if (pod === undefined || isTerminating(pod)) return undefined;
  const said = findCondition(pod.status?.conditions, 'PodScheduled');
  return said?.status === 'False' ? said : undefined;
}

function listDisks({ sandbox, disks }: Snapshot): PersistentVolumeClaim[] {
  return listDiskNames(sandbox).flatMap((name) => disks.get(name) ?? []);
}

function formatName({ metadata, spec }: PersistentVolumeClaim): string {
  const storageClass = spec.storageClassName === undefined ? 'the default class' : `class "${spec.storageClassName}"`;
  return `PersistentVolumeClaim "${metadata.name ?? ''}" of ${storageClass}`;
}
