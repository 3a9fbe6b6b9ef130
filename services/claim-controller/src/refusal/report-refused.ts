import { claimMessages, claimReasons } from '@sandlot/api-types';
import { isForbidden, isInvalid, requeueAfter, TerminalError, getKey } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { apply } from '../apply.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Pass } from '../plan/pass.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { formatRequest } from './decide-requests.ts';

/** Quotas and roles are not watched. */
const FORBIDDEN_RETRY_MS = 60_000;

interface Refused {
  readonly error: unknown;
  readonly snapshot: ClaimSnapshot;
}

/**
 * Shows the tenant in the claim's status why the API server refused a request. An invalid request is not sent again until
 * the claim or its template changes; a forbidden one is retried. Rethrows every other error.
 */
export async function reportRefused(
  deps: ApplyDeps,
  pass: Pass,
  { error, snapshot }: Refused,
): Promise<ReconcileResult> {
  if (!isInvalid(error) && !isForbidden(error)) throw error;
  const final = isInvalid(error);
  deps.waiters.remove(getKey(pass.claim));
  if (final) deps.memory.of(pass.claim).refusedRequest = formatRequest(snapshot);
  const message = claimMessages.error(error.message);
  const reason = final ? claimReasons.invalidConfiguration : claimReasons.reconcilerError;
  await apply(deps, pass, [{ kind: 'report', report: { reason, message, final } }]);
  if (final) throw new TerminalError(error.message, { cause: error });
  return requeueAfter(FORBIDDEN_RETRY_MS, 'the API server forbids what the claim needs');
}
