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
import { findDiskContents } from './disk-contents.ts';
import type { DiskContents } from './disk-contents.ts';
import { getDiskName } from './disk-names.ts';

/**
 * Makes the disks before the Pod: one PersistentVolumeClaim per template, owned as the retention policy says. Those of a
 * Sandbox that starts from a snapshot are clones of the disks in it.
 */
export function decideDisks(snapshot: Snapshot): Plan {
  const contents = findDiskContents(snapshot);
  if (hasFailed(snapshot, 'disks') || contents.kind === 'unknown') return [];
  return (snapshot.sandbox.spec.volumeClaimTemplates ?? []).flatMap((template) =>
    decideDisk(snapshot, template, contents),
  );
}

function decideDisk({ sandbox, disks }: Snapshot, template: VolumeClaimTemplate, contents: DiskContents): Step[] {
  const disk = disks.get(getDiskName(sandbox, template));
  const claimName = contents.kind === 'copies' ? contents.claims.get(getName(template)) : undefined;
  const problem = contents.kind === 'copies' ? findContentProblem(contents, template, { disk, claimName }) : undefined;
  if (problem !== undefined) return [{ kind: 'reportFailure', phase: 'disks', message: problem }];
  if (disk !== undefined) return decideExisting(sandbox, disk);
  return [{ kind: 'createDisk', phase: 'disks', disk: buildDisk(sandbox, template, claimName) }];
}

interface Cloned {
  readonly disk: PersistentVolumeClaim | undefined;
  /** What it is to be a clone of. Absent: the snapshot has no such disk. */
  readonly claimName: string | undefined;
}

/** Processes that find another disk than they were saved with would destroy it, or go wrong. */
function findContentProblem(
  { snapshotName }: Extract<DiskContents, { readonly kind: 'copies' }>,
  template: VolumeClaimTemplate,
  { disk, claimName }: Cloned,
): string | undefined {
  if (claimName === undefined) return `SandboxSnapshot "${snapshotName}" has no copy of disk "${getName(template)}"`;
  const source = disk?.spec['dataSource'] as { readonly name?: string } | undefined;
  if (disk === undefined || source?.name === claimName) return undefined;
  return `PVC "${disk.metadata.name ?? ''}" exists and is no copy of the disk in SandboxSnapshot "${snapshotName}". Delete it`;
}

function getName({ metadata }: VolumeClaimTemplate): string {
  return metadata?.name ?? '';
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

function buildDisk(
  sandbox: Sandbox,
  template: VolumeClaimTemplate,
  cloneOf: string | undefined,
): PersistentVolumeClaim {
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
    spec: cloneOf === undefined ? template.spec : buildClone(template, cloneOf),
  };
}

/** What the template says of the content of its disk is of no account: the snapshot has it. */
function buildClone({ spec }: VolumeClaimTemplate, name: string): PersistentVolumeClaim['spec'] {
  const others = Object.entries(spec).filter(([field]) => field !== 'dataSourceRef');
  return { ...Object.fromEntries(others), dataSource: { kind: 'PersistentVolumeClaim', name } };
}
