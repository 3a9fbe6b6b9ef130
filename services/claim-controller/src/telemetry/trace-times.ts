// When a claim began and how it ended, for its trace: from the claim alone, so that every process says the same.
import { annotations, claimConditions, findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';

/** Times of objects are cut to the second. */
const RESOLUTION_MS = 1_000;

/** How the creation of a claim's Sandbox ended. */
export interface ClaimEnding {
  /** Why it failed; undefined when the claim was served. */
  readonly error: string | undefined;
  /** Reason of the failure. */
  readonly outcome: string | undefined;
  /** When, as the status tells to the second; undefined when it does not. */
  readonly recordedMs: number | undefined;
}

/** Whether whoever served the claim has also noted so: its trace is complete. */
export function isServed({ metadata: { annotations: notes = {} } }: SandboxClaim): boolean {
  return annotations.claimFirstReadyAt in notes || annotations.creationLatencyRecorded in notes;
}

/**
 * When the claim was submitted, epoch milliseconds. The API server cuts its own time to the second, so the latest moment
 * of that second counts, and never one after the claim was first seen: a claim of 10 ms is not shown as one of 900.
 */
export function startMsOf({ metadata }: SandboxClaim, observedAt: string): number {
  const observedMs = Date.parse(observedAt);
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  return Number.isNaN(createdMs) ? observedMs : Math.min(observedMs, createdMs + RESOLUTION_MS - 1);
}

/** How the claim's first way to a Sandbox ended; undefined while it goes on. */
export function endingOf(claim: SandboxClaim): ClaimEnding | undefined {
  const { completionTime } = claim.status ?? {};
  if (hasFailed(claim)) return failureOf(claim);
  return completionTime === undefined
    ? undefined
    : { error: undefined, outcome: undefined, recordedMs: msOf(completionTime) };
}

function hasFailed({ status }: SandboxClaim): boolean {
  return status?.phase === 'Failed' || (status?.phase === 'Expired' && status.completionTime === undefined);
}

function failureOf({ status }: SandboxClaim): ClaimEnding {
  const ready = findCondition(status?.conditions, claimConditions.ready);
  const { message = 'the claim failed', reason = 'Failed', lastTransitionTime } = ready ?? {};
  return { error: message, outcome: reason, recordedMs: msOf(lastTransitionTime) };
}

function msOf(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** The wall time of a monotonic one. */
export function wallMsOf(clock: Clock, monotonicMs: number): number {
  return clock.now() - (clock.monotonic() - monotonicMs);
}
