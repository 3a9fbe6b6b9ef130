/** How a call failed, by what the caller can do about it. */
export type KubeErrorCode =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'TooManyRequests'
  | 'ServerError'
  /** No answer within the deadline, ours or the server's (504). */
  | 'Timeout'
  /** The connection failed before an answer came. */
  | 'Network'
  /** The caller's signal aborted. */
  | 'Aborted';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'mergePatch' | 'jsonPatch' | 'apply' | 'delete' | 'evict';

/** The call an error belongs to. */
export interface CallTarget {
  readonly verb: Verb;
  /** `pods`, `sandboxes.example.com/status`: plural, group and subresource; low cardinality. */
  readonly resource: string;
  /** Key of the object; empty for collections. */
  readonly key: string;
}

export interface KubeErrorOptions extends CallTarget {
  readonly message: string;
  readonly code: KubeErrorCode;
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly sent?: boolean | undefined;
  readonly cause?: unknown;
}

/** Why a call did not succeed. Match with the predicates below, never on the message. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  /** HTTP status; absent when no answer came. */
  readonly status: number | undefined;
  /** `reason` of the server's Status object, such as `AlreadyExists` or `Expired`. */
  readonly reason: string | undefined;
  /** The wait that the server asked for in `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** False when the server certainly never saw the request; a write then has certainly not happened. */
  readonly sent: boolean;
  readonly verb: Verb;
  readonly resource: string;
  readonly key: string;

  constructor(o: KubeErrorOptions) {
    const target = o.key === '' ? o.resource : `${o.resource} ${o.key}`;
    super(`${o.verb} ${target}: ${o.message}`, { cause: o.cause });
    this.code = o.code;
    this.status = o.status;
    this.reason = o.reason;
    this.retryAfterMs = o.retryAfterMs;
    this.sent = o.sent ?? true;
    this.verb = o.verb;
    this.resource = o.resource;
    this.key = o.key;
  }
}

const BY_STATUS: Readonly<Record<number, KubeErrorCode>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'Timeout',
  409: 'Conflict',
  410: 'Gone',
  422: 'Invalid',
  429: 'TooManyRequests',
  504: 'Timeout',
};

/** Code of an HTTP status; `AlreadyExists` and `Expired` share their status with another meaning, the reason decides. */
export function getErrorCode(status: number, reason: string | undefined): KubeErrorCode {
  if (reason === 'AlreadyExists') return 'AlreadyExists';
  if (reason === 'Expired') return 'Gone';
  return BY_STATUS[status] ?? (status >= 500 ? 'ServerError' : 'BadRequest');
}

const withCode =
  (code: KubeErrorCode) =>
  (error: unknown): error is KubeError =>
    error instanceof KubeError && error.code === code;

/** The resourceVersion or uid we named is not the object's: re-read and decide again. */
export const isConflict = withCode('Conflict');
export const isNotFound = withCode('NotFound');
export const isAlreadyExists = withCode('AlreadyExists');
/** The resourceVersion or continue token is too old: list again from the start. */
export const isGone = withCode('Gone');
export const isTooManyRequests = withCode('TooManyRequests');
/** The server refuses this object: retrying the same write is useless. */
export const isInvalid = withCode('Invalid');
export const isForbidden = withCode('Forbidden');
export const isServerError = withCode('ServerError');
/** No answer in time. After a write this means an unknown outcome: see {@link isUnknownOutcome}. */
export const isTimeout = withCode('Timeout');
/** The caller's own signal ended the call. */
export const isAborted = withCode('Aborted');

const READS: ReadonlySet<Verb> = new Set(['get', 'list', 'watch']);
const UNDECIDED: ReadonlySet<KubeErrorCode> = new Set([
  'Timeout',
  'Network',
  'Aborted',
  'TooManyRequests',
  'ServerError',
]);

/** A write that may or may not have been committed: re-read the object before deciding anything. */
export function isUnknownOutcome(error: unknown): error is KubeError {
  return error instanceof KubeError && error.sent && !READS.has(error.verb) && UNDECIDED.has(error.code);
}
