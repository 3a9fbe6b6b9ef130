import { done } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { confirmCommit } from './adopt/confirm.ts';
import { apply } from './apply.ts';
import { confirmSlots } from './batch/confirm-slots.ts';
import { decideBatch, isBatchRequest } from './batch/decide-batch.ts';
import { endBatches } from './batch/end-batches.ts';
import { observeBatch, needsSlots } from './batch/observe-batch.ts';
import { decide, isClaimRequest } from './decide.ts';
import { observeNeeds } from './needs/observe-needs.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { ApplyDeps } from './plan/apply-deps.ts';
import { beginPass } from './plan/pass.ts';
import type { Pass } from './plan/pass.ts';
import { needsStock } from './plan/plan.ts';
import type { Plan } from './plan/plan.ts';
import type { ClaimSnapshot } from './plan/snapshot.ts';
import { isDetached } from './batch/mode.ts';
import { reportRefused } from './refusal/report-refused.ts';

export type ReconcileDeps = ObserveDeps & ApplyDeps;

/** One pass over one claim: observe, decide, apply. */
export async function reconcileClaim(
  deps: ReconcileDeps,
  key: string,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  await endBatches(deps, key, context);
  const claim = deps.claims.get(key);
  if (claim === undefined) {
    deps.waiters.remove(key);
    return done;
  }
  const pass = beginPass(claim, context.signal);
  const { snapshot, plan } = await (isDetached(claim) ? planBatch(deps, pass) : planBound(deps, pass));
  if (!needsStock(plan)) deps.waiters.remove(key);
  try {
    return await apply(deps, pass, plan);
  } catch (error) {
    return reportRefused(deps, pass, { error, snapshot });
  }
}

interface Planned {
  readonly snapshot: ClaimSnapshot;
  readonly plan: Plan;
}

async function planBound(deps: ReconcileDeps, pass: Pass): Promise<Planned> {
  await confirmCommit(deps, { ...pass, record: deps.memory.of(pass.claim) });
  const snapshot = await observeNeeds(deps, pass, {
    look: () => observe(deps, pass.claim),
    needsSandbox: ({ owned }) => owned.length === 0,
    hasRequest: isClaimRequest,
  });
  return { snapshot, plan: decide(snapshot) };
}

async function planBatch(deps: ReconcileDeps, pass: Pass): Promise<Planned> {
  await confirmSlots(deps, pass);
  const snapshot = await observeNeeds(deps, pass, {
    look: () => observeBatch(deps, pass.claim),
    needsSandbox: needsSlots,
    hasRequest: isBatchRequest,
  });
  return { snapshot, plan: decideBatch(snapshot) };
}
