// Why a sandbox cannot be saved, before anything of the save exists (docs/reference/e2b-api.md#snapshots).
import { getTemplateId, needsHibernation } from '@sandlot/api-types';
import { conflict, notPossible } from '../../errors/refusals.ts';
import type { ApiError } from '../../errors/api-error.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { getState, isReady, isSuspended } from '../../state/sandbox-state.ts';
import type { SnapshotKind } from '../../state/snapshots.ts';

/** What the sandbox is doing; only a running one can be saved. */
function describeState({ claim, sandbox }: ClaimedSandbox): 'running' | 'pausing' | 'paused' | 'resuming' {
  if (getState(sandbox) === 'paused') return isSuspended(sandbox) ? 'paused' : 'pausing';
  return isReady(claim) ? 'running' : 'resuming';
}

/** The first reason why this sandbox cannot be saved; undefined if it can. */
export function findRefusal(claimed: ClaimedSandbox, kind: SnapshotKind): ApiError | undefined {
  return findStateRefusal(claimed, kind) ?? findRuntimeRefusal(claimed, kind);
}

/** Why one that does not run cannot be saved. */
export function findStateRefusal(claimed: ClaimedSandbox, kind: SnapshotKind): ApiError | undefined {
  const state = describeState(claimed);
  const id = claimed.claim.metadata.name ?? '';
  if (state === 'running') return undefined;
  if (kind === 'snapshot') return conflict(`Sandbox '${id}' cannot be snapshotted while in '${state}' state`);
  return state === 'paused'
    ? conflict(`Sandbox '${id}' is paused and cannot be forked; resume it first`)
    : conflict(`Sandbox '${id}' cannot be forked while in '${state}' state`);
}

/**
 * A Sandbox that names no runtime class runs in that of the node, which is hardly ever gVisor; one that hibernates is taken at
 * its word. What gVisor does not know is refused again by the node, with the same words.
 */
function findRuntimeRefusal({ claim, sandbox }: ClaimedSandbox, kind: SnapshotKind): ApiError | undefined {
  if (sandbox === undefined) return undefined;
  const isNamed = (sandbox.spec.podTemplate.spec.runtimeClassName ?? '') !== '';
  return isNamed || needsHibernation(sandbox.spec) ? undefined : needsGVisor(getTemplateId(claim), kind);
}

export function needsGVisor(template: string, kind: SnapshotKind): ApiError {
  const problem = `memory snapshots need the gVisor runtime; template '${template}' runs without it`;
  return notPossible(kind === 'fork' ? `fork needs memory snapshots, and ${problem}` : problem);
}

/** The class of snapshots says whether disks are copied, which the snapshot-controller reads before it saves. */
export function cannotCopyDisk(disk: string, kind: SnapshotKind): ApiError {
  return refuseDisk(disk, kind, 'this installation does not copy disks');
}

/** `why` says what to do: the storage class of the template cannot clone, or the namespace may have no more disks. */
export function refuseDisk(disk: string, kind: SnapshotKind, why: string): ApiError {
  const what =
    kind === 'fork' ? `sandbox with disk '${disk}' cannot be forked` : `disk '${disk}' cannot be part of a snapshot`;
  return notPossible(`${what}: ${why}`);
}
