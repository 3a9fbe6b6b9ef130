/** A reason why the server refused an object, as in `details.causes` of a Status. */
export interface StatusCause {
  /** `FieldValueInvalid`, `FieldValueRequired`, `FieldValueForbidden`, ... */
  readonly reason: string;
  readonly message: string;
  /** Path such as `spec.replicas`. */
  readonly field: string;
}

interface StatusDetails {
  readonly name?: string | undefined;
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly uid?: string | undefined;
  readonly causes?: readonly Partial<StatusCause>[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

interface StatusOptions {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: StatusDetails | undefined;
  /** `metadata.continue` of the Status: the token that continues an inconsistent list. */
  readonly continueToken?: string | undefined;
}

/** The resource in messages: `pods`, `sandboxes.agents.x-k8s.io`. */
export interface GroupResource {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** A refused request. Its body is the Status object of the real server. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  readonly #continueToken: string | undefined;

  constructor({ code, reason, message, details, continueToken }: StatusOptions) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.#continueToken = continueToken;
  }

  status(): object {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.#continueToken === undefined ? {} : { continue: this.#continueToken },
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(this.details === undefined ? {} : { details: compact(this.details) }),
      code: this.code,
    };
  }
}

/** Body of a success without an object: the answer to a DELETE that removed the object at once. */
export function buildSuccessStatus(details?: StatusDetails): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    ...(details === undefined ? {} : { details: compact(details) }),
  };
}

/** Removes empty values, as Go does. Otherwise clients would see `group: ""`. */
function compact(details: StatusDetails): object {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined && value !== ''));
}

function qualifiedName({ group, plural }: GroupResource): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function buildDetails({ group, plural }: GroupResource, name: string): StatusDetails {
  return { name, group, kind: plural };
}

export function notFound(of: GroupResource, name: string): ApiError {
  const message = `${qualifiedName(of)} "${name}" not found`;
  return new ApiError({ code: 404, reason: 'NotFound', message, details: buildDetails(of, name) });
}

export function alreadyExists(of: GroupResource, name: string): ApiError {
  const message = `${qualifiedName(of)} "${name}" already exists`;
  return new ApiError({ code: 409, reason: 'AlreadyExists', message, details: buildDetails(of, name) });
}

export function conflict(of: GroupResource, name: string, why = MODIFIED): ApiError {
  const message = `Operation cannot be fulfilled on ${qualifiedName(of)} "${name}": ${why}`;
  return new ApiError({ code: 409, reason: 'Conflict', message, details: buildDetails(of, name) });
}

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/** The message shows several causes as a list, and one cause without brackets. */
export function invalid(of: GroupResource, name: string, causes: readonly StatusCause[]): ApiError {
  const kind = of.group === '' ? of.kind : `${of.kind}.${of.group}`;
  const lines = causes.map(({ field, message }) => `${field}: ${message}`);
  const message = `${kind} "${name}" is invalid: ${lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`}`;
  const details = { name, group: of.group, kind: of.kind, causes };
  return new ApiError({ code: 422, reason: 'Invalid', message, details });
}

export function forbidden(of: GroupResource, name: string, why: string): ApiError {
  const message = `${qualifiedName(of)} "${name}" is forbidden: ${why}`;
  return new ApiError({ code: 403, reason: 'Forbidden', message, details: buildDetails(of, name) });
}

export function badRequest(message: string): ApiError {
  return new ApiError({ code: 400, reason: 'BadRequest', message });
}

/** A failure of the server itself. */
export function internalError(message: string): ApiError {
  return new ApiError({ code: 500, reason: 'InternalError', message });
}

export function expired(message: string, continueToken?: string): ApiError {
  return new ApiError({ code: 410, reason: 'Expired', message, continueToken });
}

export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError({ code: 405, reason: 'MethodNotAllowed', message, details: {} });
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError({ code: 415, reason: 'UnsupportedMediaType', message });
}
