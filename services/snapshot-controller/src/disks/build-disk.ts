import { findController, getApiVersion } from '@sandlot/kube/objects';
import type { KubeObject, PersistentVolumeClaim } from '@sandlot/kube/objects';
import { annotations, labels, nameHash, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';

/** By it a class that waits for the first consumer provides a volume although no Pod mounts it. */
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

interface DiskParts {
  readonly claimName: string;
  /** The disk of the Sandbox. */
  readonly source: PersistentVolumeClaim;
  /** Time of the save, as the agent answered. */
  readonly savedAt: string;
}

/** The copy of a disk as it is at the moment when its class provides it. Garbage collection deletes it with the snapshot. */
export function buildDisk(
  { metadata, status }: SandboxSnapshot,
  { claimName, source, savedAt }: DiskParts,
): PersistentVolumeClaim {
  const { namespace, name = '', uid = '' } = metadata;
  const owner = { apiVersion: getApiVersion(sandboxSnapshots), kind: sandboxSnapshots.kind, name, uid };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName,
      namespace,
      annotations: { [SELECTED_NODE]: status?.source?.nodeName ?? '', [annotations.savedAt]: savedAt },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: buildSpec(source),
  };
}

function buildSpec({ metadata, spec, status }: PersistentVolumeClaim): PersistentVolumeClaim['spec'] {
  const { accessModes, volumeMode, storageClassName, resources } = spec;
  // A volume may be larger than was asked for, and a copy that is smaller is refused.
  const storage = status?.capacity?.['storage'] ?? resources?.requests?.['storage'];
  const requests = storage === undefined ? undefined : { storage };
  const dataSource = { kind: 'PersistentVolumeClaim', name: metadata.name ?? '' };
  return { accessModes, volumeMode, storageClassName, resources: { requests }, dataSource };
}

/** Whether the snapshot made this copy. Only the UID proves it. */
export function isCopyOf(claim: KubeObject, { metadata }: SandboxSnapshot): boolean {
  const owner = findController(claim);
  return owner?.kind === sandboxSnapshots.kind && owner.uid === metadata.uid;
}

/** Whether the copy was begun after this save, and not after one that the node has lost since. */
export function isOfSave({ metadata }: KubeObject, savedAt: string): boolean {
  return metadata.annotations?.[annotations.savedAt] === savedAt;
}

/** Whether the disk is that of the saved Sandbox: the Sandbox controls it, or it is to outlive it and has its label alone. */
export function isDiskOfSource(claim: KubeObject, { spec, status }: SandboxSnapshot): boolean {
  const owner = findController(claim);
  if (owner !== undefined) return owner.uid === status?.source?.sandboxUID;
  return claim.metadata.labels?.[labels.nameHash] === nameHash(spec.sandboxName);
}
