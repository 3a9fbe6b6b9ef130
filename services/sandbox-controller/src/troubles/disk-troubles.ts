import { findCondition } from '@sandlot/api-types';
import type { PersistentVolumeClaim } from '@sandlot/kube';
import { claimNames } from '../disks/decide-disks.ts';
import { isTerminating, onlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Trouble } from '../plan/steps.ts';

/** Schedulers and volumes need a moment; a Pod that waits for longer waits for somebody. */
export const UNSCHEDULED_MS = 5_000;

/** What schedulers say when it is a disk that keeps a Pod waiting. */
const ABOUT_DISKS = /persistentvolume|storageclass|volume/i;

/** Disks that the Pod waits for, and disks that lost their volume. */
export function diskTroubles(snapshot: Snapshot): Trouble[] {
  return [...claimsOf(snapshot).flatMap(lostTroubles), ...unboundTroubles(snapshot)];
}

/** Disks without a volume, when the scheduler says that it is one of these that it waits for. */
export function unboundClaims(snapshot: Snapshot): PersistentVolumeClaim[] {
  const said = unscheduled(snapshot);
  if (said === undefined || !ABOUT_DISKS.test(said.message ?? '')) return [];
  return claimsOf(snapshot).filter(({ status }) => status?.phase !== 'Bound' && status?.phase !== 'Lost');
}

/**
 * The claim itself says nothing. Its Events do, and they alone tell a class that waits for its first Pod, as it should,
 * from one that cannot provide. The scheduler's words are the second best.
 */
function unboundTroubles(snapshot: Snapshot): Trouble[] {
  const { lastTransitionTime = '', message = '' } = unscheduled(snapshot) ?? {};
  const sinceMs = Date.parse(lastTransitionTime);
  return unboundClaims(snapshot).map((claim) => ({
    key: `${claim.metadata.uid ?? ''}/unbound`,
    note: { type: 'Warning', reason: 'VolumeNotBound', message: `${nameOf(claim)} has no volume` },
    ...(Number.isNaN(sinceMs) ? {} : { dueMs: sinceMs + UNSCHEDULED_MS }),
    reasonsOf: claim,
    otherwise: message,
  }));
}

/** A Pod may still be running on it. */
function lostTroubles(claim: PersistentVolumeClaim): Trouble[] {
  const { metadata, spec, status } = claim;
  if (status?.phase !== 'Lost') return [];
  const volume = `its volume "${spec.volumeName ?? ''}" is gone`;
  const message = `${nameOf(claim)} is lost: ${volume}. Delete the claim and the Pod to go on with an empty disk`;
  return [{ key: `${metadata.uid ?? ''}/lost`, note: { type: 'Warning', reason: 'VolumeLost', message } }];
}

function unscheduled(snapshot: Snapshot) {
  const pod = onlyPod(snapshot);
  if (pod === undefined || isTerminating(pod)) return undefined;
  const said = findCondition(pod.status?.conditions, 'PodScheduled');
  return said?.status === 'False' ? said : undefined;
}

function claimsOf({ sandbox, claims }: Snapshot): PersistentVolumeClaim[] {
  return claimNames(sandbox).flatMap((name) => claims.get(name) ?? []);
}

function nameOf({ metadata, spec }: PersistentVolumeClaim): string {
  const storageClass = spec.storageClassName === undefined ? 'the default class' : `class "${spec.storageClassName}"`;
  return `PersistentVolumeClaim "${metadata.name ?? ''}" of ${storageClass}`;
}
