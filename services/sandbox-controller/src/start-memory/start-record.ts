import {
  annotations,
  buildStartName,
  isRestorable,
  needsHibernation,
  NO_START_MEMORY,
  resolveMode,
  START_DONE,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Snapshot } from '../plan/snapshot.ts';
import type { SandboxStep, Step } from '../plan/steps.ts';

/**
 * How far the start of a Sandbox with `restoreFrom` has come, by its own record. `none`: it has no `restoreFrom`. `open`: no
 * Pod was made yet. `chosen`: its Pods continue from the copy with this UID, and from nothing else. `done`: it has started
 * from its copy, and is a Sandbox like any other since. `failed`: it can never start from the snapshot. The last two stay.
 */
export type Start =
  | { readonly kind: 'none' | 'open' | 'done' }
  | { readonly kind: 'chosen'; readonly uid: string }
  | { readonly kind: 'failed'; readonly why: string };

type Recorded = Pick<Sandbox, 'metadata' | 'spec'>;

const FAILED_PREFIX = `${NO_START_MEMORY}: `;

/** What the record of the Sandbox says. */
export function readStart({ metadata, spec }: Recorded): Start {
  const record = metadata.annotations?.[annotations.startMemory];
  if (spec.restoreFrom === undefined) return { kind: 'none' };
  if (record === undefined) return { kind: 'open' };
  if (record === START_DONE) return { kind: 'done' };
  if (record === NO_START_MEMORY) return { kind: 'failed', why: 'its Events say why' };
  if (record.startsWith(FAILED_PREFIX)) return { kind: 'failed', why: record.slice(FAILED_PREFIX.length) };
  return { kind: 'chosen', uid: record };
}

/** The record of a start that has failed for good. */
export const formatFailure = (why: string): string => `${FAILED_PREFIX}${why}`;

/**
 * Writes the record. It is guarded by the resourceVersion, so a pass on an old view of the Sandbox can never take back what
 * another one recorded.
 */
export function recordStart({ metadata: { uid, resourceVersion } }: Sandbox, record: string): SandboxStep {
  const noted = { [annotations.startMemory]: record };
  return { kind: 'recordStart', patch: { metadata: { uid, resourceVersion, annotations: noted } } };
}

/**
 * Whether the answer to `step` shows a record that another pass made. What this pass saw of the Sandbox's memory then was not
 * enough for a Pod: it has to look again.
 */
export function isRecordNews(step: Pick<Step, 'kind'>, before: Recorded, after: Recorded): boolean {
  if (step.kind === 'recordStart') return false;
  return (
    before.metadata.annotations?.[annotations.startMemory] !== after.metadata.annotations?.[annotations.startMemory]
  );
}

/** Whether a Sandbox that cannot start from its snapshot gets no Pod at all. */
export function isStrict({ spec: { restoreFrom } }: Pick<Sandbox, 'spec'>): boolean {
  return restoreFrom !== undefined && restoreFrom.onFailure !== 'Boot';
}

/** Whether a Pod that begins anew may be made, or kept. */
export function mayBoot(sandbox: Recorded): boolean {
  const { kind } = readStart(sandbox);
  return kind === 'none' || kind === 'done' || (kind === 'failed' && !isStrict(sandbox));
}

/** Whether no Pod may be made: no copy is chosen yet, or the start has failed and the Sandbox may not boot. */
export function isPodBarred(sandbox: Recorded): boolean {
  return readStart(sandbox).kind === 'open' || isStartRefused(sandbox);
}

/** Whether the start has failed, and the Sandbox stays without a Pod for that. */
export function isStartRefused(sandbox: Recorded): boolean {
  return readStart(sandbox).kind === 'failed' && isStrict(sandbox);
}

/** Whether the snapshot is the copy from which a Sandbox starts, and no hibernation. */
export function isCopy({ spec }: SandboxSnapshot): boolean {
  return spec.copyOf !== undefined;
}

/** Whether the next Pod of the Sandbox may continue from a snapshot of this kind at all. */
export function isWanted(sandbox: Sandbox, snapshot: SandboxSnapshot): boolean {
  if (!isCopy(snapshot)) return needsHibernation(sandbox.spec);
  const start = readStart(sandbox);
  return start.kind === 'chosen' && start.uid === snapshot.metadata.uid;
}

/** Whether the snapshot is a copy that the Sandbox will not start from, or has started from. */
export function isSpare(sandbox: Sandbox, snapshot: SandboxSnapshot): boolean {
  if (!isCopy(snapshot) || isWanted(sandbox, snapshot)) return false;
  return readStart(sandbox).kind !== 'open' || !isNamedForStart(sandbox, snapshot);
}

/** The copy from which a Sandbox is going to start that has recorded nothing yet. */
export function findCopy(sandbox: Sandbox, snapshots: readonly SandboxSnapshot[]): SandboxSnapshot | undefined {
  return snapshots.find((snapshot) => isCopy(snapshot) && isNamedForStart(sandbox, snapshot));
}

/** Whether the Sandbox still has no copy from which its first Pod could be made. */
export function isCopyPending(sandbox: Sandbox, snapshots: readonly SandboxSnapshot[]): boolean {
  return readStart(sandbox).kind === 'open' && findCopy(sandbox, snapshots)?.status?.phase !== 'Ready';
}

/**
 * Whether the cache may lack the Pod that had the copy: without it the start has failed for good. The copy was read before, so
 * a Pod that had it then is there, or was.
 */
export function isAbsenceDoubtful(
  sandbox: Sandbox,
  { ownedPods, foreignPod, hibernations }: Pick<Snapshot, 'ownedPods' | 'foreignPod' | 'hibernations'>,
): boolean {
  const hasPod = ownedPods.length > 0 || foreignPod !== undefined;
  if (hasPod || resolveMode(sandbox.spec) === 'Suspended' || readStart(sandbox).kind !== 'chosen') return false;
  return !hibernations.some((each) => isWanted(sandbox, each) && isRestorable(each));
}

function isNamedForStart({ metadata: { name = '', uid = '' } }: Sandbox, { metadata }: SandboxSnapshot): boolean {
  return metadata.name === buildStartName(name, uid);
}
