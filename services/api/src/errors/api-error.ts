export interface ApiErrorOptions {
  readonly status: number;
  readonly message: string;
  /** Tells clients cases with the same status apart. */
  readonly errorCode?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly cause?: unknown;
}

/** An error answer; the client receives its status, message, code and headers (docs/reference/e2b-api.md#conventions). */
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

  /** The JSON body. It repeats the status as `code`, because clients read that instead of the HTTP status. */
  body(): ErrorBody {
    return {
      code: this.status,
      message: this.message,
      ...(this.errorCode === undefined ? {} : { error_code: this.errorCode }),
    };
  }
}

interface ErrorBody {
  readonly code: number;
  readonly message: string;
  readonly error_code?: string;
}

/** The Python client retries every 502, 503 and 504 that does not carry this header. */
export const NO_RETRY: Readonly<Record<string, string>> = { 'Should-Retry': 'false' };

export function badRequest(message: string): ApiError {
  return new ApiError({ status: 400, message });
}

export function forbidden(message: string): ApiError {
  return new ApiError({ status: 403, message });
}

/** 403: the claims and pools of that namespace belong to no process of this installation. */
export function notServed(namespace: string): ApiError {
  return forbidden(`namespace '${namespace}' is not served by this installation: it is not in watchNamespaces`);
}

export function notFound(message: string): ApiError {
  return new ApiError({ status: 404, message });
}

/** The same answer for a sandbox that does not exist, was killed, or belongs to another team: a client must not learn which. */
export function noSandbox(id: string): ApiError {
  return notFound(`sandbox '${id}' was not found`);
}
