import type { Sandbox } from '@sandlot/api-types';
import type { PersistentVolumeClaim } from '@sandlot/kube/objects';
import { hasDisksToKeepWhenDeleted, releaseDisk, takeOverDisk } from '../disks/decide-disks.ts';
import { listDiskNames } from '../disks/disk-names.ts';
import { decideHibernationDeletion } from '../hibernate/decide-hibernations.ts';
import { getOwnership, findRefusal } from '../ownership/ownership.ts';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';
import { decidePublish } from '../status/decide-publish.ts';
import { getExpiredStatus, buildExpiringStatus } from '../status/status.ts';
import { isMarkedExpired } from './expiry.ts';

/**
 * Ends an expired Sandbox in two passes: docs/reference/sandbox.md#expiry. The first publishes the reason; the second
 * deletes the children and the Sandbox, or keeps the Sandbox with an empty status.
 */
export function decideExpiry(snapshot: Snapshot): Plan {
  if (!isMarkedExpired(snapshot.sandbox)) {
    return [...decidePublish(snapshot, buildExpiringStatus(snapshot)), { kind: 'requeueNow' }];
  }
  const teardown = decideTeardown(snapshot);
  if (teardown.length > 0) return teardown;
  return decidePublish(
    snapshot,
    snapshot.failures.length > 0 ? buildExpiringStatus(snapshot) : getExpiredStatus(snapshot),
  );
}

/**
 * The Sandbox goes last, once everything else is done: garbage collection would delete a disk that could not be released.
 * Empty when nothing is left, or something failed.
 */
function decideTeardown(snapshot: Snapshot): Plan {
  if (snapshot.failures.length > 0) return [];
  const { sandbox } = snapshot;
  const deletesSandbox = sandbox.spec.shutdownPolicy === 'Delete';
  const children = [
    ...decidePodDeletion(snapshot),
    ...decideHibernationDeletion(snapshot),
    ...decideServiceDeletion(snapshot),
    ...decideDiskFate(snapshot, deletesSandbox),
  ];
  if (children.length > 0 || !deletesSandbox) return children;
  return [{ kind: 'deleteSandbox', phase: 'expiry' }];
}

function decidePodDeletion({ ownedPods }: Snapshot): Step[] {
  return ownedPods.filter((pod) => !isTerminating(pod)).map((pod) => ({ kind: 'deletePod', pod, phase: 'expiry' }));
}

function decideServiceDeletion({ service, sandbox }: Snapshot): Step[] {
  if (service === undefined || isTerminating(service) || getOwnership(service, sandbox) !== 'ours') return [];
  return [{ kind: 'deleteService', service, phase: 'expiry' }];
}

/**
 * Disks to keep lose their owner reference before the Sandbox is deleted, or garbage collection would delete them. Disks to
 * delete that `whenDeleted` had released become ours again first, because the controller deletes only what it owns; with a
 * deleted Sandbox garbage collection deletes them.
 */
function decideDiskFate(snapshot: Snapshot, deletesSandbox: boolean): Step[] {
  const { sandbox } = snapshot;
  const present = listPresentDisks(snapshot);
  const owned = present.filter((disk) => getOwnership(disk, sandbox) === 'ours');
  if (hasDisksToKeepWhenExpired(sandbox)) {
    return deletesSandbox ? owned.map((disk) => releaseDisk(disk, sandbox)) : [];
  }
  const released = hasDisksToKeepWhenDeleted(sandbox) ? present.filter((disk) => isReleased(disk, sandbox)) : [];
  const taken = released.map((disk) => takeOverDisk(disk, sandbox));
  if (deletesSandbox) return taken;
  return [...taken, ...owned.map((disk): Step => ({ kind: 'deleteDisk', phase: 'expiry', disk }))];
}

function listPresentDisks({ sandbox, disks }: Snapshot): PersistentVolumeClaim[] {
  return listDiskNames(sandbox)
    .flatMap((name) => disks.get(name) ?? [])
    .filter((disk) => !isTerminating(disk));
}

function isReleased(disk: PersistentVolumeClaim, sandbox: Sandbox): boolean {
  return getOwnership(disk, sandbox) === 'unowned' && findRefusal('PVC', disk, sandbox) === undefined;
}

/** Effective `whenExpired`: as written, else kept with a retained Sandbox, else as `whenDeleted`. */
function hasDisksToKeepWhenExpired(sandbox: Sandbox): boolean {
  const written = sandbox.spec.persistentVolumeClaimRetentionPolicy?.whenExpired;
  if (written !== undefined) return written === 'Retain';
  return sandbox.spec.shutdownPolicy !== 'Delete' || hasDisksToKeepWhenDeleted(sandbox);
}
