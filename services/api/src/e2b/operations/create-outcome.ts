import { claimEndingOf, claimReasons, findCondition, sandboxReasons } from '@sandlot/api-types';
import type { Condition, SandboxClaim } from '@sandlot/api-types';
import { ApiError, NO_RETRY } from '../../errors/api-error.ts';

/** What has become of a claim that a create waits for. */
export type Outcome =
  { readonly kind: 'waiting' } | { readonly kind: 'ready' } | { readonly kind: 'failed'; readonly error: ApiError };

/** Decides from a claim's status; `patient`: an empty pool is waited for. */
export function outcomeOf({ status }: SandboxClaim, patient: boolean): Outcome {
  const ready = findCondition(status?.conditions, 'Ready');
  if (ready === undefined) return { kind: 'waiting' };
  if (ready.status === 'True') return { kind: 'ready' };
  const error = failureOf(ready, patient);
  if (error !== undefined) return { kind: 'failed', error };
  return status?.phase === 'Failed' ? { kind: 'failed', error: broken(ready.message) } : { kind: 'waiting' };
}

/** Why no time can help; undefined when it may. */
function failureOf({ reason, message }: Condition, patient: boolean): ApiError | undefined {
  if (reason === claimReasons.waitingForStock) return patient ? undefined : noStock();
  const ending = claimEndingOf(reason);
  if (ending === 'refused') return new ApiError({ status: 400, message });
  if (ending === 'late' || ending === 'expired') return tooLate(message);
  // The reasons of a Sandbox whose pod ended, which the claim copies.
  const hasPodEnded = reason === sandboxReasons.podFailed || reason === sandboxReasons.podSucceeded;
  return ending === 'broken' || hasPodEnded ? broken(message) : undefined;
}

function noStock(): ApiError {
  const message = 'no ready sandbox is in the pool, and none is to be made for this request';
  // Nothing is left of it, so that it may be repeated.
  const headers = { 'Retry-After': '1' };
  return new ApiError({ status: 503, message, errorCode: 'sandbox_capacity_unavailable', headers });
}

export function tooLate(detail: string): ApiError {
  const message = `the sandbox was not ready in time: ${detail}`;
  return new ApiError({ status: 504, message, errorCode: 'sandbox_placement_timeout', headers: NO_RETRY });
}

function broken(detail: string): ApiError {
  const message = `the sandbox could not be started: ${detail}`;
  return new ApiError({ status: 500, message, errorCode: 'sandbox_create_failed', headers: NO_RETRY });
}
