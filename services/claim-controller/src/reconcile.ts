import { claimMessages, claimReasons } from '@sandlot/api-types';
import { done, isForbidden, isInvalid, TerminalError } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { settle } from './adopt.ts';
import { apply } from './apply.ts';
import type { BindDeps, Pass } from './bind.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';

export type ReconcileDeps = ObserveDeps & BindDeps;

/** One pass over one claim: observe, decide, apply. */
export async function reconcileClaim(
  deps: ReconcileDeps,
  key: string,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const claim = deps.cache.claims.store.get(key);
  if (claim === undefined) {
    deps.waiters.remove(key);
    return done;
  }
  const settled = await settle(deps, claim, context.signal);
  if (settled !== undefined) deps.observations.of(claim.metadata.uid ?? '').assigned = settled;
  const snapshot = observe(deps, claim);
  const pass: Pass = { claim, traceContext: snapshot.traceContext, signal: context.signal };
  try {
    return await apply(deps, pass, decide(snapshot));
  } catch (error) {
    if (!isInvalid(error) && !isForbidden(error)) throw error;
    // The API server refuses what the claim or its template asks for: repeating it is useless, its words help the tenant.
    const report = { reason: claimReasons.reconcilerError, message: claimMessages.error(error.message), final: true };
    await apply(deps, pass, [{ kind: 'report', report }]);
    throw new TerminalError(error.message, { cause: error });
  }
}
