import { annotations, claimConditions, claimReasons, findCondition, sandboxReasons } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { parseDurationMs } from '@sandlot/std';
import { isDetached } from '../batch/mode.ts';

/** `creationTimestamp` is cut to the second: the claim may be almost a second younger than it says. */
const STAMP_MS = 1_000;
/** Effective `claimTimeout` of a detached claim (docs/reference/sandbox-claim.md#spec). */
const DEFAULT_TIMEOUT_MS = 60_000;

/** When the Sandbox of a bound claim is to be paused, epoch milliseconds; undefined when it never is. */
export function pauseAtMs(claim: SandboxClaim): number | undefined {
  const { [annotations.onTimeout]: action, [annotations.endAt]: endAt = '' } = claim.metadata.annotations ?? {};
  if (action !== 'pause' || isDetached(claim)) return undefined;
  const atMs = Date.parse(endAt);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Whether the claim shows its Sandbox suspended: the end of its time has acted, or has nothing to act on. */
export function isPaused({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, claimConditions.ready)?.reason === sandboxReasons.sandboxSuspended;
}

/** Whether the first of the two passes of an expiry is published. */
export function hasAnnouncedExpiry({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, claimConditions.ready)?.reason === claimReasons.claimExpired;
}

/** Epoch milliseconds of the earliest of shutdownTime and Finished plus its time to live; undefined without either. */
export function findExpiresAtMs(claim: SandboxClaim): number | undefined {
  const times = [findShutdownAtMs(claim), findFinishedTtlAtMs(claim)].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

export function findShutdownAtMs({ spec: { lifecycle } }: SandboxClaim): number | undefined {
  return lifecycle?.shutdownTime === undefined ? undefined : Date.parse(lifecycle.shutdownTime);
}

export function findFinishedTtlAtMs({ spec: { lifecycle }, status }: SandboxClaim): number | undefined {
  const seconds = lifecycle?.ttlSecondsAfterFinished;
  if (seconds === undefined) return undefined;
  const finished = findCondition(status?.conditions, claimConditions.finished);
  return finished?.status === 'True' ? Date.parse(finished.lastTransitionTime) + seconds * 1_000 : undefined;
}

/** When a completed claim is deleted without its Sandboxes, epoch milliseconds. */
export function findCompletedTtlAtMs({ spec, status }: SandboxClaim): number | undefined {
  if (spec.ttlSecondsAfterCompleted === undefined || status?.completionTime === undefined) return undefined;
  return Date.parse(status.completionTime) + spec.ttlSecondsAfterCompleted * 1_000;
}

/** Until when a bound claim may look for a Sandbox, epoch milliseconds; undefined without a limit, or once it was served. */
export function boundClaimingEndsAtMs({ metadata, spec, status }: SandboxClaim): number | undefined {
  if (spec.claimTimeout === undefined || status?.completionTime !== undefined) return undefined;
  const limitMs = parseDurationMs(spec.claimTimeout);
  return limitMs === undefined ? undefined : Date.parse(metadata.creationTimestamp ?? '') + STAMP_MS + limitMs;
}

/** When the claiming of a detached claim stops, epoch milliseconds. */
export function getDetachedClaimingEndMs({ spec }: SandboxClaim, startMs: number): number {
  return startMs + (parseDurationMs(spec.claimTimeout ?? '') ?? DEFAULT_TIMEOUT_MS);
}

/** Until when a claim of either mode may look for Sandboxes; undefined once it failed, or before a detached one has begun. */
export function findClaimingEndMs(claim: SandboxClaim): number | undefined {
  const { claimStartTime, completionTime, phase } = claim.status ?? {};
  if (completionTime !== undefined || phase === 'Failed') return undefined;
  if (!isDetached(claim)) return boundClaimingEndsAtMs(claim);
  return claimStartTime === undefined ? undefined : getDetachedClaimingEndMs(claim, Date.parse(claimStartTime));
}
