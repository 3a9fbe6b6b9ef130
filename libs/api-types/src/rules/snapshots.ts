// Which SandboxSnapshot is the hibernation of which Sandbox, and whether it may still be restored.
import { createHash } from 'node:crypto';
import { findController } from '@sandlot/kube/objects';
import { annotations } from '../catalogue/keys.ts';
import { CORE_GROUP } from '../objects.ts';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotClass, SandboxSpec } from '../objects.ts';

/** So that the name is also a label value. */
const MAX_NAME = 63;
const HASH_DIGITS = 10;

/**
 * Name of the SandboxSnapshot by which a Sandbox hibernates with this Pod. A Pod has one, so that a create which is repeated
 * after a time-out finds the first.
 */
export function buildHibernationName(sandboxName: string, podUID: string): string {
  const hash = createHash('sha256').update(podUID).digest('hex').slice(0, HASH_DIGITS);
  const kept = sandboxName.slice(0, MAX_NAME - HASH_DIGITS - 1).replace(/[.-]+$/, '');
  return `${kept}-${hash}`;
}

/** Whether a suspension of the Sandbox saves its memory. */
export function needsHibernation({ suspensionStrategy }: Pick<SandboxSpec, 'suspensionStrategy'>): boolean {
  return suspensionStrategy?.type === 'Hibernate';
}

/**
 * Whether the snapshot is a hibernation of exactly this Sandbox, which controls it by UID. A name or a label would not do:
 * users choose them.
 */
export function isHibernationOf({ metadata, spec }: SandboxSnapshot, sandbox: Pick<Sandbox, 'metadata'>): boolean {
  const owner = findController({ metadata });
  if (owner?.kind !== 'Sandbox' || !owner.apiVersion.startsWith(`${CORE_GROUP}/`)) return false;
  const { namespace, name, uid } = sandbox.metadata;
  const isOfName = metadata.namespace === namespace && spec.sandboxName === name;
  return uid !== undefined && owner.uid === uid && isOfName && spec.whenSaved === 'StayPaused';
}

/**
 * Whether a Pod has had this snapshot, or may have it: it is never restored twice. `podUID` is a Pod that does not count,
 * because it is the one that asks.
 */
export function isSpent({ status }: Pick<SandboxSnapshot, 'status'>, podUID?: string): boolean {
  const { restore } = status ?? {};
  return restore !== undefined && restore.state !== 'Withdrawn' && restore.podUID !== podUID;
}

/** Whether a new Pod may be made for the snapshot: it is saved, is not being deleted, and no Pod had it. */
export function isRestorable({ metadata, status }: SandboxSnapshot): boolean {
  return status?.phase === 'Ready' && metadata.deletionTimestamp === undefined && !isSpent({ status });
}

/** Whether snapshots without a class use this one. */
export function isDefaultClass({ metadata }: SandboxSnapshotClass): boolean {
  return metadata.annotations?.[annotations.isDefaultClass] === 'true';
}
