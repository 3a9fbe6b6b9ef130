// Which operation a Sandbox is in, and which one a status write ends, from the object alone.
import {
  annotations,
  resolveMode,
  findCondition,
  isPoolMember,
  labels,
  launchTypes,
  sandboxConditions,
} from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import { findController } from '@sandlot/kube';
import { findOperation, spanNames } from '@sandlot/telemetry';
import type { Operation } from '@sandlot/telemetry';

/** Kubernetes truncates times to the second. */
const RESOLUTION_MS = 1_000;

/** An operation that a status write ends. */
export interface Ended {
  readonly what: 'create' | 'suspend' | 'resume';
  /** Why it failed. */
  readonly error?: string | undefined;
}

/** The creation of a Sandbox: under the claim or client that made it, or, for a pool member, a trace of its own. */
export function findCreation(sandbox: Sandbox): Operation | undefined {
  const { uid = '', annotations: notes = {} } = sandbox.metadata;
  const carried = isWarmed(sandbox) ? undefined : notes[annotations.traceContext];
  return findOperation({ name: spanNames.sandboxCreate, uid, carried });
}

/** The operation of the claim that adopted the Sandbox, as the claim-controller derives it; undefined without one. */
export function findAdoption(sandbox: Sandbox): Operation | undefined {
  const owner = findController(sandbox);
  const isAdopted = isWarmed(sandbox) && owner?.kind === 'SandboxClaim';
  return isAdopted ? findOperation({ name: spanNames.claimCreate, uid: owner.uid }) : undefined;
}

/** Whether a pool created it. Once adopted, it carries the trace context of its claim. */
function isWarmed(sandbox: Sandbox): boolean {
  return isPoolMember(sandbox) || sandbox.metadata.labels?.[labels.launchType] === launchTypes.warm;
}

/** Whether its first start has not ended, as far as the status shows. */
export function isCreating({ metadata, spec, status }: Sandbox): boolean {
  if (metadata.deletionTimestamp !== undefined || resolveMode(spec) !== 'Running') return false;
  return status?.phase === undefined || (!ENDED.has(status.phase) && wasNeverReady(status));
}

const ENDED: ReadonlySet<string> = new Set(['Finished', 'Expired']);

/**
 * Until the first Ready, Ready has been False since the first status, so it has the same transition time as Suspended.
 * Without `resumedAt`, a suspension and resume within one second would look the same.
 */
function wasNeverReady({ conditions, resumedAt }: SandboxStatus): boolean {
  if (resumedAt !== undefined) return false;
  const ready = findCondition(conditions, sandboxConditions.ready);
  const since = findCondition(conditions, sandboxConditions.suspended)?.lastTransitionTime;
  return ready !== undefined && ready.status !== 'True' && ready.lastTransitionTime === since;
}

/** Whether it was adopted and has had no pass since: the next pass belongs to the trace of the claim. */
export function isJustAdopted(sandbox: Sandbox): boolean {
  const isWarm = sandbox.metadata.labels?.[labels.launchType] === launchTypes.warm;
  return isWarm && !isPoolMember(sandbox) && sandbox.status?.startedAt === undefined;
}

/** The operation that is over by the status of `after`, but not by that of `before`. */
export function buildEndedOperation(before: Sandbox, after: Sandbox): Ended | undefined {
  if (hasBecomeTrue(before, after, sandboxConditions.suspended)) {
    return before.status?.conditions === undefined ? undefined : { what: 'suspend' };
  }
  if (hasBecomeTrue(before, after, sandboxConditions.ready)) return findEndedByReady(before, after);
  if (!isCreating(before)) return undefined;
  if (hasBecomeTrue(before, after, sandboxConditions.finished))
    return { what: 'create', error: findReadyMessage(after) };
  return after.status?.phase === 'Expired' ? { what: 'create', error: findReadyMessage(after) } : undefined;
}

function findEndedByReady(before: Sandbox, after: Sandbox): Ended | undefined {
  if (isCreating(before)) return { what: 'create' };
  const lostMs = Date.parse(
    findCondition(before.status?.conditions, sandboxConditions.ready)?.lastTransitionTime ?? '',
  );
  const resumedMs = Date.parse(after.status?.resumedAt ?? '');
  // A Sandbox that lost Ready after its resume had its Pod replaced.
  return lostMs <= resumedMs ? { what: 'resume' } : undefined;
}

function hasBecomeTrue(before: Sandbox, after: Sandbox, type: string): boolean {
  const isTrue = ({ status }: Sandbox): boolean => findCondition(status?.conditions, type)?.status === 'True';
  return isTrue(after) && !isTrue(before);
}

function findReadyMessage({ status }: Sandbox): string {
  return findCondition(status?.conditions, sandboxConditions.ready)?.message ?? 'the sandbox ended before it was Ready';
}

/**
 * When the creation began, epoch milliseconds. The trace context of a claim carries its start in milliseconds: that is used
 * within the second that the API server shows.
 */
export function getCreatedMs({ metadata }: Sandbox, carriedStartMs: number | undefined): number {
  const ms = Date.parse(metadata.creationTimestamp ?? '');
  return carriedStartMs === undefined ? ms : Math.max(ms, Math.min(carriedStartMs, ms + RESOLUTION_MS - 1));
}

/** When a suspension or a resume began by the status, to the second. */
export function getModeChangedMs(what: 'suspend' | 'resume', before: Sandbox, after: Sandbox): number {
  const ready = findCondition(before.status?.conditions, sandboxConditions.ready);
  const time = what === 'resume' ? after.status?.resumedAt : ready?.lastTransitionTime;
  return Date.parse(time ?? '');
}

/** When Ready turned True by the status. The claim-controller computes the same time. */
export function findReadyMs({ status }: Sandbox): number {
  return Date.parse(findCondition(status?.conditions, sandboxConditions.ready)?.lastTransitionTime ?? '');
}
