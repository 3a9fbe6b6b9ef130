import { buildDiskCopyName } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Scene } from '../plan/scene.ts';

/**
 * The disks that a save is going to copy, for the status: a later process knows by them that the Pod is to be held, and what
 * to remove. A hibernation keeps the disks of its Sandbox. Undefined: none.
 */
export function planDisks({ object, snapshotClass, source }: Scene): SandboxSnapshotStatus['disks'] {
  const templates = source?.sandbox?.object.spec.volumeClaimTemplates ?? [];
  const isCopied = snapshotClass?.spec.disks !== undefined && object.spec.whenSaved !== 'StayPaused';
  if (!isCopied || templates.length === 0) return undefined;
  return templates.map(({ metadata: { name = '' } = {} }) => ({ name, claimName: buildDiskCopyName(object, name) }));
}

/** Whether the object has copies of disks of its own, or is going to. Those of a copy belong to its original. */
export function hasOwnDisks({ spec, status }: SandboxSnapshot): boolean {
  return spec.copyOf === undefined && (status?.disks ?? []).length > 0;
}
