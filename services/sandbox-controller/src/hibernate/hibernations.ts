import {
  annotations,
  buildHibernationName,
  findCondition,
  isRestorable,
  snapshotConditions,
  snapshotReasons,
} from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isCopy, isWanted } from '../start-memory/start-record.ts';

type Restore = NonNullable<SandboxSnapshotStatus['restore']>;

/** How long an announced restore may take before the controller no longer waits for its outcome. */
const RESTORE_PATIENCE_MS = 60_000;

/** The hibernation by which the memory of `pod` is or was saved. */
export function findSaveOf({ sandbox, hibernations }: Snapshot, pod: Pod): SandboxSnapshot | undefined {
  return hibernations.find((hibernation) => isSaveOf(hibernation, pod, sandbox.metadata.name ?? ''));
}

function isSaveOf({ metadata, status }: SandboxSnapshot, pod: Pod, sandboxName: string): boolean {
  const podUID = pod.metadata.uid ?? '';
  return status?.source?.podUID === podUID || metadata.name === buildHibernationName(sandboxName, podUID);
}

/** Whether the memory of exactly this Pod is on a node, complete. The Pod stands still since. */
export function isSaved(save: SandboxSnapshot | undefined, pod: Pod): boolean {
  return save?.status?.phase === 'Ready' && save.status.source?.podUID === pod.metadata.uid && !isTerminating(save);
}

/** UID of the SandboxSnapshot that `pod` was built to be restored from; undefined for an ordinary Pod. */
export function findMark({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[annotations.restoreSnapshot];
}

/** Hibernations that a new Pod may be restored from, the newest first, and the copy from which the Sandbox starts. */
export function listRestorable({ sandbox, hibernations }: Snapshot): SandboxSnapshot[] {
  return hibernations.filter((each) => isRestorable(each) && (!isCopy(each) || isWanted(sandbox, each)));
}

/** What the snapshot-controller says about a failed hibernation. */
export function getProblem({ metadata, status }: SandboxSnapshot): string {
  const said = findCondition(status?.conditions, snapshotConditions.ready);
  const text = said?.message ?? said?.reason ?? 'the snapshot-controller says no more';
  return `SandboxSnapshot "${metadata.name ?? ''}": ${text}`;
}

/** Whether the data of a complete save is gone, for example with its node. */
export function isDataLost({ status }: SandboxSnapshot): boolean {
  return findCondition(status?.conditions, snapshotConditions.ready)?.reason === snapshotReasons.dataLost;
}

/** Whether a memory is deleted because its time is over, while no Pod has gone on from it. */
export function isExpiredMemory(hibernation: SandboxSnapshot, nowMs: number): boolean {
  const { metadata, status } = hibernation;
  if (isCopy(hibernation) || !isTerminating(hibernation) || status?.expiresAt === undefined) return false;
  const kept = { ...hibernation, metadata: { ...metadata, deletionTimestamp: undefined } };
  return isRestorable(kept) && Date.parse(status.expiresAt) <= nowMs;
}

/**
 * Until when the outcome of an announced restore is awaited, epoch milliseconds. A restore takes seconds; after a minute its
 * outcome can no longer matter more than that the Sandbox starts.
 */
export function getPatienceEndMs({ at }: Pick<Restore, 'at'>): number {
  const atMs = Date.parse(at);
  return Number.isNaN(atMs) ? 0 : atMs + RESTORE_PATIENCE_MS;
}

/** Newest first. Times have whole seconds, so the name decides between equal ones, always alike. */
export function sortNewestFirst(hibernations: readonly SandboxSnapshot[]): SandboxSnapshot[] {
  const getAge = ({ metadata: { creationTimestamp = '', name = '' } }: SandboxSnapshot): string =>
    `${creationTimestamp} ${name}`;
  return hibernations.toSorted((a, b) => (getAge(a) < getAge(b) ? 1 : -1));
}
