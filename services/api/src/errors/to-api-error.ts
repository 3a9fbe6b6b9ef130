import { KubeError } from '@sandlot/kube';
import { ApiError, NO_RETRY } from './api-error.ts';

const UNAVAILABLE = new Set(['TooManyRequests', 'ServerError', 'Timeout', 'Network', 'Aborted', 'Unauthorized']);

/**
 * The answer for any failure of a handler. An ApiError is returned unchanged. An error of the API server keeps its message
 * only if it is about the request. All others become a 500 or 503 without details.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof KubeError) return fromKubeError(error);
  return fromHttpError(error) ?? internalError(error);
}

function fromKubeError(error: KubeError): ApiError {
  const { code, message, cause } = error;
  if (code === 'Invalid' || code === 'BadRequest') return new ApiError({ status: 400, message, cause });
  if (code === 'NotFound') return new ApiError({ status: 404, message, cause });
  if (code === 'Conflict' || code === 'AlreadyExists') return new ApiError({ status: 409, message, cause });
  if (code === 'Forbidden') return new ApiError({ status: 403, message, cause });
  if (!UNAVAILABLE.has(code)) return internalError(error);
  const text = 'the cluster cannot be reached or is overloaded; try again';
  return new ApiError({ status: 503, message: text, headers: { 'Retry-After': '1' }, cause: error });
}

/** Errors of the body parser and the router, if they are 4xx; undefined otherwise. */
function fromHttpError(error: unknown): ApiError | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  const { status } = error;
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  return new ApiError({ status, message: error.message, cause: error });
}

function internalError(cause: unknown): ApiError {
  const message = 'an internal error occurred; the request id leads to it in the log';
  return new ApiError({ status: 500, message, errorCode: 'internal_server_error', headers: NO_RETRY, cause });
}
