// Which operation a Sandbox is in, and which one a change of its status ends: from the object alone.
import {
  annotations,
  effectiveMode,
  findCondition,
  isPoolMember,
  labels,
  launchTypes,
  sandboxConditions,
} from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import { controllerOf } from '@sandlot/kube';
import { operationOf, spanNames } from '@sandlot/telemetry';
import type { Operation } from '@sandlot/telemetry';

/** Times of objects are cut to the second. */
const RESOLUTION_MS = 1_000;

/** An operation that a status tells the end of. */
export interface Ended {
  readonly what: 'create' | 'suspend' | 'resume';
  /** Why it failed. */
  readonly error?: string | undefined;
}

/** The creation of a Sandbox: under the claim or client that made it, or, for a pool member, a trace of its own. */
export function creationOf(sandbox: Sandbox): Operation | undefined {
  const { uid = '', annotations: notes = {} } = sandbox.metadata;
  const carried = isWarmed(sandbox) ? undefined : notes[annotations.traceContext];
  return operationOf({ name: spanNames.sandboxCreate, uid, carried });
}

/** What the claim that adopted it was served in, where that is not written on it: as its own controller derives it. */
export function adoptionOf(sandbox: Sandbox): Operation | undefined {
  const owner = controllerOf(sandbox);
  const isAdopted = isWarmed(sandbox) && owner?.kind === 'SandboxClaim';
  return isAdopted ? operationOf({ name: spanNames.claimCreate, uid: owner.uid }) : undefined;
}

/** Made by a pool, whoever has it now: what it carries then is the trace of whoever adopted it. */
function isWarmed(sandbox: Sandbox): boolean {
  return isPoolMember(sandbox) || sandbox.metadata.labels?.[labels.launchType] === launchTypes.warm;
}

/** Never Ready so far, as far as the status remembers. */
export function isCreating({ metadata, spec, status }: Sandbox): boolean {
  if (metadata.deletionTimestamp !== undefined || effectiveMode(spec) !== 'Running') return false;
  return status?.phase === undefined || (!ENDED.has(status.phase) && wasNeverReady(status));
}

const ENDED: ReadonlySet<string> = new Set(['Finished', 'Expired']);

/**
 * Until it is Ready for the first time, Ready has been False since the first status, which Suspended dates. A Sandbox that
 * slept and was woken within one second has the same times.
 */
function wasNeverReady({ conditions, resumedAt }: SandboxStatus): boolean {
  if (resumedAt !== undefined) return false;
  const ready = findCondition(conditions, sandboxConditions.ready);
  const since = findCondition(conditions, sandboxConditions.suspended)?.lastTransitionTime;
  return ready !== undefined && ready.status !== 'True' && ready.lastTransitionTime === since;
}

/** Adopted, and not looked at since: what follows belongs to the claim. */
export function isJustAdopted(sandbox: Sandbox): boolean {
  const isWarm = sandbox.metadata.labels?.[labels.launchType] === launchTypes.warm;
  return isWarm && !isPoolMember(sandbox) && sandbox.status?.startedAt === undefined;
}

/** What the status of `after` says is over, and that of `before` did not. */
export function endedBy(before: Sandbox, after: Sandbox): Ended | undefined {
  if (turnedTrue(before, after, sandboxConditions.suspended)) {
    return before.status?.conditions === undefined ? undefined : { what: 'suspend' };
  }
  if (turnedTrue(before, after, sandboxConditions.ready)) return startOver(before, after);
  if (!isCreating(before)) return undefined;
  if (turnedTrue(before, after, sandboxConditions.finished)) return { what: 'create', error: readyMessage(after) };
  return after.status?.phase === 'Expired' ? { what: 'create', error: readyMessage(after) } : undefined;
}

function startOver(before: Sandbox, after: Sandbox): Ended | undefined {
  if (isCreating(before)) return { what: 'create' };
  const lostMs = Date.parse(
    findCondition(before.status?.conditions, sandboxConditions.ready)?.lastTransitionTime ?? '',
  );
  const resumedMs = Date.parse(after.status?.resumedAt ?? '');
  // Ready was lost before the resume: one that is lost after it is a Pod that was replaced.
  return lostMs <= resumedMs ? { what: 'resume' } : undefined;
}

function turnedTrue(before: Sandbox, after: Sandbox, type: string): boolean {
  const isTrue = ({ status }: Sandbox): boolean => findCondition(status?.conditions, type)?.status === 'True';
  return isTrue(after) && !isTrue(before);
}

function readyMessage({ status }: Sandbox): string {
  return findCondition(status?.conditions, sandboxConditions.ready)?.message ?? 'the sandbox ended before it was Ready';
}

/**
 * When the creation began, epoch milliseconds. The time of a claim is finer than that of the Sandbox made for it: within
 * the second that the API server shows, it counts.
 */
export function createdMs({ metadata }: Sandbox, carriedStartMs: number | undefined): number {
  const ms = Date.parse(metadata.creationTimestamp ?? '');
  return carriedStartMs === undefined ? ms : Math.max(ms, Math.min(carriedStartMs, ms + RESOLUTION_MS - 1));
}

/** When a suspension or a resume began, as the status tells to the second. */
export function modeChangedMs(what: 'suspend' | 'resume', before: Sandbox, after: Sandbox): number {
  const ready = findCondition(before.status?.conditions, sandboxConditions.ready);
  const time = what === 'resume' ? after.status?.resumedAt : ready?.lastTransitionTime;
  return Date.parse(time ?? '');
}

/** When Ready turned True by the status, which whoever made the claim sees alike. */
export function readyMs({ status }: Sandbox): number {
  return Date.parse(findCondition(status?.conditions, sandboxConditions.ready)?.lastTransitionTime ?? '');
}
