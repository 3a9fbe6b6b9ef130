import { findClaimEnding, claimReasons, findCondition, sandboxReasons } from '@sandlot/api-types';
import type { Condition, SandboxClaim } from '@sandlot/api-types';
import { badRequest } from '../../errors/api-error.ts';
import type { ApiError } from '../../errors/api-error.ts';
import { conflict, notPossible } from '../../errors/refusals.ts';
import { noStock, readyTooLate, restoreFailed, startFailed, tooManySandboxes } from '../../errors/create-errors.ts';

/** State of a claim that a create waits for. */
export type Outcome =
  { readonly kind: 'waiting' } | { readonly kind: 'ready' } | { readonly kind: 'failed'; readonly error: ApiError };

export interface Asked {
  /** Waits while its pool is empty. */
  readonly isPatient: boolean;
  /** As the client wrote it. */
  readonly templateID: string;
}

/** Reads the outcome from the claim's status. */
export function buildOutcome({ status }: SandboxClaim, asked: Asked): Outcome {
  const ready = findCondition(status?.conditions, 'Ready');
  if (ready === undefined) return { kind: 'waiting' };
  if (ready.status === 'True') return { kind: 'ready' };
  const error = findTerminalError(ready, asked);
  if (error !== undefined) return { kind: 'failed', error };
  return status?.phase === 'Failed' ? { kind: 'failed', error: startFailed(ready.message) } : { kind: 'waiting' };
}

/** The claim copies these reasons from a Sandbox whose pod ended, or which the API server refuses as invalid. */
const HOPELESS: ReadonlySet<string> = new Set([
  sandboxReasons.podFailed,
  sandboxReasons.podSucceeded,
  sandboxReasons.invalidConfiguration,
]);

/** The error of a reason that passes once something else is deleted: the client does not wait for that. */
function findBlock(reason: string, message: string): ApiError | undefined {
  if (reason === claimReasons.sandboxNameTaken) return conflict(message);
  return reason === claimReasons.quotaExceeded ? tooManySandboxes(message) : undefined;
}

/** The error of a reason that no waiting can change; undefined for all others. */
function findTerminalError({ reason, message }: Condition, { isPatient, templateID }: Asked): ApiError | undefined {
  if (reason === claimReasons.waitingForStock) return isPatient ? undefined : noStock();
  if (reason === sandboxReasons.restoreFailed) return restoreFailed(templateID, message);
  const blocked = findBlock(reason, message);
  if (blocked !== undefined) return blocked;
  return findEndingError(reason, message);
}

/** The error of a claim that has ended. The metadata are the client's own; what else is refused, the template does not allow. */
function findEndingError(reason: string, message: string): ApiError | undefined {
  const ending = findClaimEnding(reason);
  if (ending === 'refused') {
    return reason === claimReasons.invalidMetadata ? badRequest(message) : notPossible(message);
  }
  if (ending === 'late' || ending === 'expired') return readyTooLate(message);
  return ending === 'broken' || HOPELESS.has(reason) ? startFailed(message) : undefined;
}
