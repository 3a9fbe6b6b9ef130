// The errors of a create that clients tell apart by `error_code` (docs/reference/e2b-api.md#create).
import { ApiError, NO_RETRY } from './api-error.ts';
import { notNow } from './refusals.ts';

/** 503: the pool is empty and the request forbids a cold start. The claim is deleted, so the client may repeat the request. */
export function noStock(): ApiError {
  const message = 'no ready sandbox is in the pool, and none is to be made for this request';
  return notNow(message, { afterSeconds: 1, errorCode: 'sandbox_capacity_unavailable' });
}

/** 429: the API key has as many sandboxes as it may have. */
export function tooManySandboxes(message: string): ApiError {
  return new ApiError({ status: 429, message, headers: { 'Retry-After': '5' } });
}

/** 504: the sandbox missed the deadline of the create. */
export function readyTooLate(detail: string): ApiError {
  const message = `the sandbox was not ready in time: ${detail}`;
  return new ApiError({ status: 504, message, errorCode: 'sandbox_placement_timeout', headers: NO_RETRY });
}

/** 503: a sandbox could go on to a replica of the egress proxy that does not have its rules. */
export function rulesTooLate(detail: string): ApiError {
  const message = `the rules of the sandbox were not in force in time: ${detail}`;
  return new ApiError({ status: 503, message, headers: NO_RETRY });
}

/** 500: the sandbox failed to start. */
export function startFailed(detail: string): ApiError {
  const message = `the sandbox could not be started: ${detail}`;
  return new ApiError({ status: 500, message, errorCode: 'sandbox_create_failed', headers: NO_RETRY });
}

/** 503: the memory of the snapshot cannot be restored: its node is gone, or no node is like it any more. */
export function restoreFailed(snapshotID: string, detail: string): ApiError {
  const message = `no node can restore snapshot '${snapshotID}': ${detail}`;
  return new ApiError({ status: 503, message, errorCode: 'sandbox_capacity_unavailable', headers: NO_RETRY });
}

/** 409: an earlier request with the same Idempotency-Key is still running. */
export function firstRequestInProgress(): ApiError {
  const message = 'the first request of this Idempotency-Key is not finished';
  const headers = { 'Should-Retry': 'true', 'Retry-After': '1' };
  return new ApiError({ status: 409, message, errorCode: 'idempotency_in_progress', headers });
}

/** 422: the Idempotency-Key belongs to a request with another body. */
export function idempotencyMismatch(): ApiError {
  const message = 'this Idempotency-Key was used for another request';
  return new ApiError({ status: 422, message, errorCode: 'idempotency_request_mismatch' });
}
