import { formatDiskName, snapshotMessages, snapshotReasons } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Call } from '../agent/calls.ts';
import type { Manifest } from '../agent/messages.ts';
import { getRetryMs, isHopeless } from '../agent/patience.ts';
import { NOTHING } from '../plan/steps.ts';
import type { Plan, Step } from '../plan/steps.ts';
import type { Calls, DiskLook, Scene } from '../plan/scene.ts';
import { buildFailedStatus, buildReadyStatus } from '../status/build-status.ts';
import type { Problem, Source } from '../status/build-status.ts';
import { buildDisk, isCopyOf, isDiskOfSource, isOfSave } from './build-disk.ts';
import type { DiskRefused } from './disk-refused.ts';

/** How long a Pod stands still for copies of its disks. Clients of a sandbox rarely wait longer for an answer. */
export const HOLD_SECONDS = 60;
/** The Pod stands still meanwhile, and no watch shows the copies. */
const LOOK_AGAIN_MS = 200;
/** A provisioner tries again by itself, so what it said before may have been over soon. */
const LATE_MS = 10_000;
const LOOK_AGAIN_LATE_MS = 1_000;

/** Whether the copies of a save that was answered take so long that their Events are worth a look. */
export function areDisksLate({ save }: Pick<Calls, 'save'>, nowMs: number): boolean {
  return save?.state === 'answered' && nowMs >= save.endedMs + LATE_MS;
}

/** The answer to the save. */
type Answered = Extract<Call<Manifest>, { readonly state: 'answered' }>;

/**
 * Copies the disks of a Pod that stands still since it was saved, and lets it go on. Only the agent knows whether it stood
 * still all the time until every copy had its volume: then disks and memory are of one moment, also for a process that found
 * the copies of another one.
 */
export function decideDisks(scene: Scene, source: Source, saved: Answered): Plan {
  const { endHold } = scene.calls;
  if (endHold === undefined) return decideCopies(scene, source, saved);
  switch (endHold.state) {
    case 'running':
      return NOTHING;
    case 'answered':
      return { steps: [{ kind: 'status', status: buildReadyStatus(scene, saved.value) }] };
    default:
      return decideUnheld(scene, source, endHold);
  }
}

function decideCopies(scene: Scene, { nodeName }: Source, { value, endedMs }: Answered): Plan {
  const { disks = [], nowMs } = scene;
  const problem = disks.map((disk) => findDiskProblem(scene, value, disk)).find((found) => found !== undefined);
  if (problem !== undefined) return fail(scene, problem);
  const late = disks.find(({ copy }) => copy?.status?.phase !== 'Bound');
  if (late === undefined) return { steps: [{ kind: 'endHold', nodeName }] };
  if (nowMs >= endedMs + HOLD_SECONDS * 1_000) {
    return fail(scene, describe(late.claimName, snapshotMessages.diskUnbound(HOLD_SECONDS)));
  }
  const pauseMs = nowMs >= endedMs + LATE_MS ? LOOK_AGAIN_LATE_MS : LOOK_AGAIN_MS;
  return { steps: disks.flatMap((disk) => buildMissing(scene, value, disk)), nextMs: nowMs + pauseMs };
}

function buildMissing({ object }: Scene, { savedAt }: Manifest, { claimName, copy, source }: DiskLook): Step[] {
  if (copy !== undefined || source === undefined) return [];
  return [{ kind: 'createDisk', disk: buildDisk(object, { claimName, source, savedAt }) }];
}

function findDiskProblem({ object }: Scene, { savedAt }: Manifest, disk: DiskLook): Problem | undefined {
  const { claimName, copy, said } = disk;
  if (copy === undefined) return findSourceProblem(object, disk);
  if (!isCopyOf(copy, object)) return describe(claimName, snapshotMessages.diskForeign);
  if (!isOfSave(copy, savedAt)) return describe(claimName, 'it is of an earlier save. Make another SandboxSnapshot');
  if (said !== undefined) {
    return refuse(claimName, snapshotMessages.diskNotCloned(copy.spec.storageClassName ?? '', said));
  }
  const isGone = copy.metadata.deletionTimestamp !== undefined || copy.status?.phase === 'Lost';
  return isGone ? describe(claimName, 'it was deleted, or lost its volume') : undefined;
}

function findSourceProblem(object: SandboxSnapshot, { name, claimName, source }: DiskLook): Problem | undefined {
  if (source !== undefined && isDiskOfSource(source, object)) {
    const isClonable = (source.spec.storageClassName ?? '') !== '';
    return isClonable ? undefined : refuse(claimName, snapshotMessages.diskWithoutClass);
  }
  const { sandboxName } = object.spec;
  return describe(claimName, snapshotMessages.diskWithoutSource(formatDiskName(name, sandboxName), sandboxName));
}

type Unheld = Extract<Call<'held'>, { readonly message: string }>;

function decideUnheld(scene: Scene, { nodeName }: Source, call: Unheld): Plan {
  const [first] = scene.object.status?.disks ?? [];
  if (call.state === 'refused' || scene.isNodeGone || isHopeless(call)) {
    return fail(scene, describe(first?.claimName ?? '', call.message));
  }
  const retryMs = getRetryMs(call);
  return scene.nowMs < retryMs ? { steps: [], nextMs: retryMs } : { steps: [{ kind: 'endHold', nodeName }] };
}

/** Quotas and policies of the namespace bind the controller as they bind users. */
export function decideRefusedDisk(scene: Scene, { claimName, message }: DiskRefused): Step {
  return { kind: 'status', status: buildFailedStatus(scene, refuse(claimName, message)) };
}

/** Another try would end in the same way. */
function refuse(claimName: string, detail: string): Problem {
  return { reason: snapshotReasons.disksRefused, message: snapshotMessages.disksRefused(claimName, detail) };
}

function describe(claimName: string, detail: string): Problem {
  return { reason: snapshotReasons.disksFailed, message: snapshotMessages.disksFailed(claimName, detail) };
}

function fail(scene: Scene, problem: Problem): Plan {
  return { steps: [{ kind: 'status', status: buildFailedStatus(scene, problem) }] };
}
