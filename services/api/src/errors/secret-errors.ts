// The errors of secrets, with the texts of E2B (docs/reference/e2b-api.md#secrets).
import { isTimeout, KubeError } from '@sandlot/kube';
import { ApiError, NO_RETRY, notFound } from './api-error.ts';
import { conflict } from './refusals.ts';

/** The same answer for a secret that does not exist and one of another team: a client must not learn which. */
export function noSecret(): ApiError {
  return notFound('Secret not found');
}

const CONFLICT = 'Secret cannot be modified in its current state';

/** 409: the name is taken, or too many others change the secret at this moment. */
export function secretConflict(): ApiError {
  return conflict(CONFLICT);
}

/** 409: the namespace has as many secrets as it may have. */
export function tooManySecrets(): ApiError {
  return conflict(CONFLICT, 'secret_limit_reached');
}

/** The answer to a failure of the API server: 504 if it was too slow, else 502. Other errors stay as they are. */
export function toSecretError(cause: unknown): unknown {
  if (!(cause instanceof KubeError)) return cause;
  const [status, message] = isTimeout(cause)
    ? ([504, 'Secrets backend did not answer in time'] as const)
    : ([502, 'Secrets backend error'] as const);
  // A repeated create would answer that the name is taken, and a repeated update would be another version.
  return new ApiError({ status, message, headers: NO_RETRY, cause });
}
