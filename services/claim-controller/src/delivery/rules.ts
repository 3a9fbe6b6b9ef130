import { findCondition, hasOwnNetwork, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { parseDurationMs } from '@sandlot/std';

/** Effective `waitReadyTimeout` once a delivery has steps after the commit. */
const DEFAULT_WAIT_MS = 30_000;
/** Delays between the tries of a delivery that fails (API contract, delivery steps). */
const BACKOFF_MS = { base: 200, max: 5_000 } as const;
/** Tries of a bound claim that sets no time limit. */
const MAX_TRIES = 5;

/** How often the delivery to a claim has failed, and how the last try did. */
export interface Failures {
  readonly count: number;
  readonly atMs: number;
  readonly message: string;
}

/** Whether the claim's Sandbox has a daemon that is to be told its token and variables (API contract, delivery steps). */
export function needsInit({ spec }: SandboxClaim, sandbox: Sandbox): boolean {
  return sandbox.spec.runtime?.inject === true && spec.skipInitRuntime !== true;
}

/** How long a committed Sandbox may take to be Ready; undefined when the claim is done with the commit. */
export function readyWithinMs(claim: SandboxClaim, sandbox: Sandbox): number | undefined {
  const { waitReadyTimeout, inplaceUpdate } = claim.spec;
  const asked = waitReadyTimeout === undefined ? undefined : parseDurationMs(waitReadyTimeout);
  const isDone = inplaceUpdate === undefined && !needsInit(claim, sandbox) && !hasOwnNetwork(claim);
  return asked ?? (isDone ? undefined : DEFAULT_WAIT_MS);
}

/** Whether the time for the delivery begins with its first step, the initialisation, and not with the commit. */
export function isTimedByInit(claim: SandboxClaim, sandbox: Sandbox): boolean {
  const { waitReadyTimeout, inplaceUpdate } = claim.spec;
  const isInitOnly = inplaceUpdate === undefined && !hasOwnNetwork(claim);
  return waitReadyTimeout === undefined && isInitOnly && needsInit(claim, sandbox);
}

/**
 * Whether all that the claim asked for has been done to the Sandbox. A condition from before the image was changed, or from
 * before the Pod left its template's network rules, does not count: its generation is older than the commit's.
 */
export function isDelivered(claim: SandboxClaim, sandbox: Sandbox): boolean {
  if (readyWithinMs(claim, sandbox) === undefined) return true;
  const ready = findCondition(sandbox.status?.conditions, sandboxConditions.ready);
  const isCurrent = ready?.observedGeneration === sandbox.metadata.generation;
  const waits = claim.spec.inplaceUpdate !== undefined || (hasOwnNetwork(claim) && !wasServed(claim, sandbox));
  return ready?.status === 'True' && (isCurrent || !waits);
}

/** Whether this Sandbox was shown Ready to a bound claim before: what becomes of it then is no failed delivery. */
export function wasServed({ status }: SandboxClaim, { metadata }: Sandbox): boolean {
  return status?.completionTime !== undefined && (status.sandbox?.name ?? '') === metadata.name;
}

/** Milliseconds a committed Sandbox still has; undefined when it has all the time, or has done it. */
export function leftToDeliverMs(claim: SandboxClaim, sandbox: Sandbox, elapsedMs: number): number | undefined {
  const limitMs = readyWithinMs(claim, sandbox);
  return limitMs === undefined || isDelivered(claim, sandbox) ? undefined : limitMs - elapsedMs;
}

/** Why a delivery failed, for the owner of the claim; `trouble` is what its last step met. */
export function deliveryFailure(claim: SandboxClaim, sandbox: Sandbox, trouble?: string): string {
  const { inplaceUpdate, waitReadyTimeout, claimTimeout } = claim.spec;
  const image = inplaceUpdate === undefined ? '' : ` with image "${inplaceUpdate.image}"`;
  const limit = waitReadyTimeout ?? (readyWithinMs(claim, sandbox) === undefined ? claimTimeout : '30s');
  const why = trouble === undefined ? '' : `: ${trouble}`;
  return `sandbox "${sandbox.metadata.name ?? ''}" was not ready${image} within ${limit ?? 'its time'}${why}`;
}

/** How long to wait before the next try. */
export function retryInMs({ count, atMs }: Failures, nowMs: number): number {
  const delayMs = Math.min(BACKOFF_MS.base * 2 ** Math.min(count - 1, 10), BACKOFF_MS.max);
  return Math.max(0, atMs + delayMs - nowMs);
}

/** Whether a bound claim has had all its tries. One with a time limit tries until then. */
export function isExhausted({ spec }: SandboxClaim, { count }: Failures): boolean {
  return count >= MAX_TRIES && spec.claimTimeout === undefined;
}
