// Every refusal of what a release, an installation, a template, a state or this moment does not allow, in one place
// (docs/reference/e2b-api.md#refusals). No client repeats any of them by itself but the last.
import { ApiError, NO_RETRY } from './api-error.ts';

/** 501: this release has no code for it. */
export function notSupported(feature: string): ApiError {
  const message = `${feature} is not supported by this installation`;
  return new ApiError({ status: 501, message, errorCode: 'not_supported', headers: NO_RETRY });
}

/** 403: the operator has not configured it. `what` is a plural or singular with its verb: `memory snapshots are`. */
export function notEnabled(what: string): ApiError {
  const message = `${what} not enabled in this installation`;
  return new ApiError({ status: 403, message, errorCode: 'not_enabled', headers: NO_RETRY });
}

/** 403: the sandbox was there, and the operator has configured no store that would still have its log. */
export function endedLogsNotKept(): ApiError {
  const message = 'logs of ended sandboxes are not kept in this installation';
  return new ApiError({ status: 403, message, errorCode: 'not_enabled', headers: NO_RETRY });
}

/** 400: the request asks for more than this installation or template can do. The message names the field and what is missing. */
export function notPossible(message: string): ApiError {
  return new ApiError({ status: 400, message, errorCode: 'not_supported', headers: NO_RETRY });
}

/** 409: the object is in a state that forbids it, which the message names. */
export function conflict(message: string, errorCode?: string): ApiError {
  return new ApiError({ status: 409, message, errorCode, headers: NO_RETRY });
}

/** 410: E2B has taken it back, and it does not come again. The message says what to use instead. */
export function gone(message: string): ApiError {
  return new ApiError({ status: 410, message, headers: NO_RETRY });
}

interface Retry {
  readonly afterSeconds: number;
  readonly errorCode?: 'sandbox_capacity_unavailable' | undefined;
}

/** 503: there is nothing to do it with at this moment, and nothing was begun that a repetition would begin again. */
export function notNow(message: string, { afterSeconds, errorCode }: Retry): ApiError {
  return new ApiError({ status: 503, message, errorCode, headers: { 'Retry-After': String(afterSeconds) } });
}
