import { findCondition, sandboxConditions } from '@sandlot/api-types';
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

/** How long a committed Sandbox may take to be Ready; undefined when the claim is done with the commit. */
export function readyWithinMs({ spec }: SandboxClaim): number | undefined {
  const asked = spec.waitReadyTimeout === undefined ? undefined : parseDurationMs(spec.waitReadyTimeout);
  return asked ?? (spec.inplaceUpdate === undefined ? undefined : DEFAULT_WAIT_MS);
}

/**
 * Whether all that the claim asked for has been done to the Sandbox. A condition from before the image was changed does
 * not count: its generation is older than the commit's.
 */
export function isDelivered(claim: SandboxClaim, sandbox: Sandbox): boolean {
  if (readyWithinMs(claim) === undefined) return true;
  const ready = findCondition(sandbox.status?.conditions, sandboxConditions.ready);
  const isCurrent = ready?.observedGeneration === sandbox.metadata.generation;
  return ready?.status === 'True' && (isCurrent || claim.spec.inplaceUpdate === undefined);
}

/** Whether this Sandbox was shown Ready to a bound claim before: what becomes of it then is no failed delivery. */
export function wasServed({ status }: SandboxClaim, { metadata }: Sandbox): boolean {
  return status?.completionTime !== undefined && (status.sandbox?.name ?? '') === metadata.name;
}

/** Milliseconds a committed Sandbox still has; undefined when it has all the time, or has done it. */
export function leftToDeliverMs(claim: SandboxClaim, sandbox: Sandbox, elapsedMs: number): number | undefined {
  const limitMs = readyWithinMs(claim);
  return limitMs === undefined || isDelivered(claim, sandbox) ? undefined : limitMs - elapsedMs;
}

/** Why a delivery failed, for the owner of the claim. */
export function deliveryFailure({ spec }: SandboxClaim, { metadata: { name = '' } }: Sandbox): string {
  const image = spec.inplaceUpdate === undefined ? '' : ` with image "${spec.inplaceUpdate.image}"`;
  const limit =
    spec.waitReadyTimeout ?? (readyWithinMs({ metadata: {}, spec }) === undefined ? spec.claimTimeout : '30s');
  return `sandbox "${name}" was not ready${image} within ${limit ?? 'its time'}`;
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
