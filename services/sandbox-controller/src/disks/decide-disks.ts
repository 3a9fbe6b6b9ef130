import type { Sandbox, VolumeClaimTemplate } from '@sandlot/api-types';
import type { JsonObject, PersistentVolumeClaim } from '@sandlot/kube/objects';
import {
  buildOwnerReference,
  getOwnership,
  findRefusal,
  release,
  takeOver,
  buildTrackingLabel,
} from '../ownership/ownership.ts';
import { hasFailed } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';
import { getDiskName } from './disk-names.ts';

/** Makes the disks before the Pod: one PersistentVolumeClaim per template, owned as the retention policy says. */
export function decideDisks(snapshot: Snapshot): Plan {
  if (hasFailed(snapshot, 'disks')) return [];
  const { sandbox, disks } = snapshot;
  return (sandbox.spec.volumeClaimTemplates ?? []).flatMap((template) => {
    const disk = disks.get(getDiskName(sandbox, template));
    return disk === undefined
      ? [{ kind: 'createDisk' as const, phase: 'disks' as const, disk: buildDisk(sandbox, template) }]
      : decideExisting(sandbox, disk);
  });
}

/** Whether the disks outlive a deleted Sandbox: then they must have no owner reference for garbage collection to follow. */
export function hasDisksToKeepWhenDeleted(sandbox: Sandbox): boolean {
  return sandbox.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Retain';
}

/** Takes `disk` out of the reach of garbage collection; its label lets a later Sandbox of the name find it. */
export function releaseDisk(disk: PersistentVolumeClaim, sandbox: Sandbox): Step {
  return patchDisk(disk, { ...release(disk, sandbox), labels: buildTrackingLabel(sandbox) });
}

/** Makes garbage collection delete `disk` with the Sandbox. */
export function takeOverDisk(disk: PersistentVolumeClaim, sandbox: Sandbox): Step {
  return patchDisk(disk, { ...takeOver(disk, sandbox), labels: buildTrackingLabel(sandbox) });
}

function patchDisk(disk: PersistentVolumeClaim, metadata: JsonObject): Step {
  return { kind: 'patchDisk', phase: 'disks', disk, patch: { metadata } };
}

function decideExisting(sandbox: Sandbox, disk: PersistentVolumeClaim): Step[] {
  const refusal = findRefusal('PVC', disk, sandbox);
  if (refusal !== undefined) return [{ kind: 'reportFailure', phase: 'disks', message: refusal }];
  const isOurs = getOwnership(disk, sandbox) === 'ours';
  if (hasDisksToKeepWhenDeleted(sandbox)) return isOurs ? [releaseDisk(disk, sandbox)] : [];
  return isOurs ? [] : [takeOverDisk(disk, sandbox)];
}

function buildDisk(sandbox: Sandbox, template: VolumeClaimTemplate): PersistentVolumeClaim {
  const { labels, annotations } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: getDiskName(sandbox, template),
      namespace: sandbox.metadata.namespace,
      labels: { ...labels, ...buildTrackingLabel(sandbox) },
      ...(annotations === undefined ? {} : { annotations }),
      ...(hasDisksToKeepWhenDeleted(sandbox) ? {} : { ownerReferences: [buildOwnerReference(sandbox)] }),
    },
    spec: template.spec,
  };
}
