import { labels, formatDiskName } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { formatColdName } from '@sandlot/blueprint';
import type { PersistentVolume } from '@sandlot/kube';
import { isDetached } from '../batch/mode.ts';
import type { ReadVolumes } from './snapshot-volumes.ts';
import { listVolumeSources } from './volume-sources.ts';
import type { VolumeSource } from './volume-sources.ts';

/**
 * Why the claim may not bind a PersistentVolume that it names now; undefined when it may bind all. The message is the same
 * whether the volume is absent or not open to the namespace: users who create claims must not learn what the cluster has.
 */
export function findPersistentVolumeProblem(claim: SandboxClaim, read: ReadVolumes): string | undefined {
  for (const source of listVolumeSources(claim, undefined)) {
    if (source.volume.persistentVolumeName === undefined) continue;
    const detail = findProblem(claim, source, read);
    if (detail !== undefined) return detail;
  }
  return undefined;
}

function findProblem(claim: SandboxClaim, { name, volume }: VolumeSource, read: ReadVolumes): string | undefined {
  const { namespace = '' } = claim.metadata;
  const volumeName = volume.persistentVolumeName ?? '';
  const what = `PersistentVolume "${volumeName}"`;
  const found = read.get(volumeName) ?? 'absent';
  if (found === 'forbidden') {
    return `the claim-controller may not read PersistentVolumes; grant it get on them, as the chart does with claimController.persistentVolumes=true`;
  }
  if (found === 'absent' || found.metadata.labels?.[labels.claimableBy] !== namespace) {
    return `${what} does not exist or is not open to namespace "${namespace}"; its owner has to label it ${labels.claimableBy}=${namespace}`;
  }
  return findUnbindableReason(found, { what, namespace, name: formatDiskName(name, getSandboxName(claim)) });
}

interface Disk {
  /** The volume, as messages name it. */
  readonly what: string;
  readonly namespace: string;
  /** Name of the disk that the Sandbox would have. */
  readonly name: string;
}

/** A bound volume stays with its disk: another disk would be pending for ever. */
function findUnbindableReason({ spec, status }: PersistentVolume, disk: Disk): string | undefined {
  const { what } = disk;
  if (spec?.volumeMode === 'Block') {
    return `${what} is a block device, which cannot be mounted; name one whose volumeMode is Filesystem`;
  }
  if (status?.phase === 'Released' || status?.phase === 'Failed') {
    return `${what} is ${status.phase}, of an earlier PersistentVolumeClaim; its owner has to remove its spec.claimRef`;
  }
  if (spec?.claimRef === undefined || isClaimedFor(disk, spec.claimRef)) return undefined;
  return `${what} is bound by another PersistentVolumeClaim; name that claim in persistentVolumeClaimName if it is in this namespace`;
}

function isClaimedFor(
  disk: Disk,
  { namespace, name }: { readonly namespace?: string; readonly name?: string },
): boolean {
  return namespace === disk.namespace && name === disk.name;
}

/** Name of the only Sandbox of the claim. */
function getSandboxName(claim: SandboxClaim): string {
  return formatColdName(claim, isDetached(claim) ? 0 : undefined);
}
