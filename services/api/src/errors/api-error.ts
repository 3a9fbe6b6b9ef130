import { KubeError } from '@sandlot/kube';

export interface ApiErrorOptions {
  readonly status: number;
  readonly message: string;
  /** What clients tell cases of one status apart by. */
  readonly errorCode?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly cause?: unknown;
}

/** A refusal that the caller is told in these words (E2B contract, conventions). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor({ status, message, errorCode, headers = {}, cause }: ApiErrorOptions) {
    super(message, { cause });
    this.status = status;
    this.errorCode = errorCode;
    this.headers = headers;
  }

  /** The body: `code` is the status once more, since clients read it instead. */
  body(): ErrorBody {
    return {
      code: this.status,
      message: this.message,
      ...(this.errorCode === undefined ? {} : { error_code: this.errorCode }),
    };
  }
}

export interface ErrorBody {
  readonly code: number;
  readonly message: string;
  readonly error_code?: string;
}

/** Python's client repeats any 502, 503 and 504 that does not forbid it. */
export const NO_RETRY: Readonly<Record<string, string>> = { 'Should-Retry': 'false' };

export function badRequest(message: string): ApiError {
  return new ApiError({ status: 400, message });
}

export function forbidden(message: string): ApiError {
  return new ApiError({ status: 403, message });
}

export function notFound(message: string): ApiError {
  return new ApiError({ status: 404, message });
}

export function conflict(message: string): ApiError {
  return new ApiError({ status: 409, message });
}

/** Unknown, killed or somebody else's: all the same to the caller. */
export function noSandbox(id: string): ApiError {
  return notFound(`sandbox '${id}' was not found`);
}

export function notSupported(feature: string): ApiError {
  const message = `${feature} is not supported by this installation`;
  return new ApiError({ status: 501, message, errorCode: 'not_supported', headers: NO_RETRY });
}

const UNAVAILABLE = new Set(['TooManyRequests', 'ServerError', 'Timeout', 'Network', 'Aborted', 'Unauthorized']);

/**
 * What a caller is told of any failure: refusals as they are, the API server's in its words where they are about what was
 * asked, everything else without details.
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof KubeError) return ofKube(error);
  return ofHttp(error) ?? internal(error);
}

function ofKube(error: KubeError): ApiError {
  const { code, message, cause } = error;
  if (code === 'Invalid' || code === 'BadRequest') return new ApiError({ status: 400, message, cause });
  if (code === 'NotFound') return new ApiError({ status: 404, message, cause });
  if (code === 'Conflict' || code === 'AlreadyExists') return new ApiError({ status: 409, message, cause });
  if (code === 'Forbidden') return new ApiError({ status: 403, message, cause });
  if (!UNAVAILABLE.has(code)) return internal(error);
  const told = 'the cluster cannot be reached or is overloaded; try again';
  return new ApiError({ status: 503, message: told, headers: { 'Retry-After': '1' }, cause: error });
}

/** Errors of the body reader and the router: only those that blame the request. */
function ofHttp(error: unknown): ApiError | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  const { status } = error;
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  return new ApiError({ status, message: error.message, cause: error });
}

function internal(cause: unknown): ApiError {
  const message = 'an internal error occurred; the request id leads to it in the log';
  return new ApiError({ status: 500, message, errorCode: 'internal_server_error', headers: NO_RETRY, cause });
}
