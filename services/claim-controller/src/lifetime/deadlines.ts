import { annotations, claimConditions, claimReasons, findCondition, sandboxReasons } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { deadlinesAt } from '@sandlot/jobs/deadline';
import type { Deadline } from '@sandlot/jobs/deadline';
import { parseDurationMs } from '@sandlot/std';
import { isDetached } from '../publish/status.ts';

/** `creationTimestamp` has whole seconds: the claim may be almost a second younger than it says. */
const STAMP_MS = 1_000;
/** Effective `claimTimeout` of a detached claim (API contract, claim spec). */
const DEFAULT_TIMEOUT_MS = 60_000;

const NONE: readonly Deadline[] = [];

/**
 * The moments at which a claim has to be looked at although nothing changes. Decisions go by the same functions. What has
 * acted already is not among them.
 */
export function deadlinesOf(claim: SandboxClaim): readonly Deadline[] {
  const { metadata } = claim;
  if (metadata.deletionTimestamp !== undefined || !canBeDue(claim)) return NONE;
  const isExpired = hasAnnouncedExpiry(claim);
  return deadlinesAt(claim, {
    shutdown: isExpired ? undefined : shutdownAtMs(claim),
    ttl: isExpired ? undefined : finishedTtlAtMs(claim),
    'claim-timeout': isExpired ? undefined : claimingEndsAtMs(claim),
    retention: completedTtlAtMs(claim),
    pause: isExpired || isPaused(claim) ? undefined : pauseAtMs(claim),
  });
}

/** Most claims have none of this: they cost a look at five fields. */
function canBeDue({ metadata, spec }: SandboxClaim): boolean {
  const { lifecycle, claimTimeout, ttlSecondsAfterCompleted, replicas = 1 } = spec;
  if (lifecycle !== undefined || claimTimeout !== undefined || ttlSecondsAfterCompleted !== undefined) return true;
  return replicas > 1 || metadata.annotations?.[annotations.onTimeout] !== undefined;
}

/** When the Sandbox of a bound claim is to be paused, epoch milliseconds; undefined when it never is. */
export function pauseAtMs(claim: SandboxClaim): number | undefined {
  const { [annotations.onTimeout]: action, [annotations.endAt]: endAt = '' } = claim.metadata.annotations ?? {};
  if (action !== 'pause' || isDetached(claim)) return undefined;
  const atMs = Date.parse(endAt);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** As the claim shows it: the end of its time has acted, or has nothing to act on. */
function isPaused({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, claimConditions.ready)?.reason === sandboxReasons.sandboxSuspended;
}

/** The first of the two passes of an expiry has been published. */
export function hasAnnouncedExpiry({ status }: SandboxClaim): boolean {
  return findCondition(status?.conditions, claimConditions.ready)?.reason === claimReasons.claimExpired;
}

/** Epoch milliseconds of the earliest of shutdownTime and Finished plus its time to live; undefined without either. */
export function expiresAtMs(claim: SandboxClaim): number | undefined {
  const times = [shutdownAtMs(claim), finishedTtlAtMs(claim)].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

function shutdownAtMs({ spec: { lifecycle } }: SandboxClaim): number | undefined {
  return lifecycle?.shutdownTime === undefined ? undefined : Date.parse(lifecycle.shutdownTime);
}

function finishedTtlAtMs({ spec: { lifecycle }, status }: SandboxClaim): number | undefined {
  const seconds = lifecycle?.ttlSecondsAfterFinished;
  if (seconds === undefined) return undefined;
  const finished = findCondition(status?.conditions, claimConditions.finished);
  return finished?.status === 'True' ? Date.parse(finished.lastTransitionTime) + seconds * 1_000 : undefined;
}

/** When a detached claim alone goes, epoch milliseconds. */
export function completedTtlAtMs({ spec, status }: SandboxClaim): number | undefined {
  if (spec.ttlSecondsAfterCompleted === undefined || status?.completionTime === undefined) return undefined;
  return Date.parse(status.completionTime) + spec.ttlSecondsAfterCompleted * 1_000;
}

/** Until when a bound claim may look for a Sandbox, epoch milliseconds; undefined when it may for ever, or was served. */
export function boundClaimingEndsAtMs({ metadata, spec, status }: SandboxClaim): number | undefined {
  if (spec.claimTimeout === undefined || status?.completionTime !== undefined) return undefined;
  const limitMs = parseDurationMs(spec.claimTimeout);
  return limitMs === undefined ? undefined : Date.parse(metadata.creationTimestamp ?? '') + STAMP_MS + limitMs;
}

/** When the claiming of a detached claim stops, epoch milliseconds. */
export function detachedClaimingEndsAtMs({ spec }: SandboxClaim, startMs: number): number {
  return startMs + (parseDurationMs(spec.claimTimeout ?? '') ?? DEFAULT_TIMEOUT_MS);
}

/** A claim that has failed is not timed out again; a detached one has begun once its status says when. */
function claimingEndsAtMs(claim: SandboxClaim): number | undefined {
  const { claimStartTime, completionTime, phase } = claim.status ?? {};
  if (completionTime !== undefined || phase === 'Failed') return undefined;
  if (!isDetached(claim)) return boundClaimingEndsAtMs(claim);
  return claimStartTime === undefined ? undefined : detachedClaimingEndsAtMs(claim, Date.parse(claimStartTime));
}
