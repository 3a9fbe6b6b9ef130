// Start and end of a claim for its trace, derived from the claim alone, so that every process computes the same.
import { annotations, claimConditions, findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';

/** The API server cuts times to the second. */
const RESOLUTION_MS = 1_000;

/** How the creation of a claim's Sandbox ended. */
export interface ClaimEnding {
  /** Why it failed; undefined when the claim was served. */
  readonly error: string | undefined;
  /** Reason of the failure; undefined when the claim was served. */
  readonly outcome: string | undefined;
  /** When it ended according to the status, to the second; undefined when the status has no time. */
  readonly recordedMs: number | undefined;
}

/** Whether the claim is annotated as served: its trace is complete. */
export function isServed({ metadata: { annotations: notes = {} } }: SandboxClaim): boolean {
  return annotations.claimFirstReadyAt in notes || annotations.creationLatencyRecorded in notes;
}

/**
 * When the claim was submitted, epoch milliseconds. The API server cuts its time to the second, so this takes the last
 * moment of that second, but none after the first sight of the claim: otherwise 10 ms could appear as 900 ms.
 */
export function getStartMs({ metadata }: SandboxClaim, observedAt: string): number {
  const observedMs = Date.parse(observedAt);
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  return Number.isNaN(createdMs) ? observedMs : Math.min(observedMs, createdMs + RESOLUTION_MS - 1);
}

/** How the creation of the claim's first Sandbox ended; undefined while it goes on. */
export function findEnding(claim: SandboxClaim): ClaimEnding | undefined {
  const { completionTime } = claim.status ?? {};
  if (hasFailed(claim)) return buildFailure(claim);
  return completionTime === undefined
    ? undefined
    : { error: undefined, outcome: undefined, recordedMs: findMs(completionTime) };
}

function hasFailed({ status }: SandboxClaim): boolean {
  return status?.phase === 'Failed' || (status?.phase === 'Expired' && status.completionTime === undefined);
}

function buildFailure({ status }: SandboxClaim): ClaimEnding {
  const ready = findCondition(status?.conditions, claimConditions.ready);
  const { message = 'the claim failed', reason = 'Failed', lastTransitionTime } = ready ?? {};
  return { error: message, outcome: reason, recordedMs: findMs(lastTransitionTime) };
}

function findMs(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** The wall time of a monotonic time, both in milliseconds. */
export function getWallMs(clock: Clock, monotonicMs: number): number {
  return clock.now() - (clock.monotonic() - monotonicMs);
}
