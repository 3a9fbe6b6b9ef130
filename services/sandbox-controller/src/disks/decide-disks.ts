import type { Sandbox, VolumeClaimTemplate } from '@sandlot/api-types';
import type { JsonObject, PersistentVolumeClaim } from '@sandlot/kube/objects';
import { ownerReference, ownershipOf, refusalOf, release, takeOver, trackingLabel } from '../ownership/ownership.ts';
import { hasFailed } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';
import { diskName } from './disk-names.ts';

/** Makes the disks before the Pod: one PersistentVolumeClaim per template, owned as the retention policy says. */
export function decideDisks(snapshot: Snapshot): Plan {
  if (hasFailed(snapshot, 'disks')) return [];
  const { sandbox, disks } = snapshot;
  return (sandbox.spec.volumeClaimTemplates ?? []).flatMap((template) => {
    const disk = disks.get(diskName(sandbox, template));
    return disk === undefined
      ? [{ kind: 'createDisk' as const, phase: 'disks' as const, disk: buildDisk(sandbox, template) }]
      : decideExisting(sandbox, disk);
  });
}

/** Whether the disks outlive a deleted Sandbox: then they must have no owner reference for garbage collection to follow. */
export function keepsDisksWhenDeleted(sandbox: Sandbox): boolean {
  return sandbox.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Retain';
}

/** Takes `disk` out of the reach of garbage collection; its label lets a later Sandbox of the name find it. */
export function releaseDisk(disk: PersistentVolumeClaim, sandbox: Sandbox): Step {
  return patchDisk(disk, { ...release(disk, sandbox), labels: trackingLabel(sandbox) });
}

/** Makes garbage collection delete `disk` with the Sandbox. */
export function takeOverDisk(disk: PersistentVolumeClaim, sandbox: Sandbox): Step {
  return patchDisk(disk, { ...takeOver(disk, sandbox), labels: trackingLabel(sandbox) });
}

function patchDisk(disk: PersistentVolumeClaim, metadata: JsonObject): Step {
  return { kind: 'patchDisk', phase: 'disks', disk, patch: { metadata } };
}

function decideExisting(sandbox: Sandbox, disk: PersistentVolumeClaim): Step[] {
  const refusal = refusalOf('PVC', disk, sandbox);
  if (refusal !== undefined) return [{ kind: 'reportFailure', phase: 'disks', message: refusal }];
  const isOurs = ownershipOf(disk, sandbox) === 'ours';
  if (keepsDisksWhenDeleted(sandbox)) return isOurs ? [releaseDisk(disk, sandbox)] : [];
  return isOurs ? [] : [takeOverDisk(disk, sandbox)];
}

function buildDisk(sandbox: Sandbox, template: VolumeClaimTemplate): PersistentVolumeClaim {
  const { labels, annotations } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: diskName(sandbox, template),
      namespace: sandbox.metadata.namespace,
      labels: { ...labels, ...trackingLabel(sandbox) },
      ...(annotations === undefined ? {} : { annotations }),
      ...(keepsDisksWhenDeleted(sandbox) ? {} : { ownerReferences: [ownerReference(sandbox)] }),
    },
    spec: template.spec,
  };
}
