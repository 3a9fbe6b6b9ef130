import type { ReconcileResult } from '@sandlot/kube';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decideDeliveries } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import { keepUp } from './stream/keep-up.ts';
import type { KeepUpDeps } from './stream/keep-up.ts';

export type ReconcileDeps = ObserveDeps & ApplyDeps & KeepUpDeps;

/** One pass over the stream: queues the deliveries of its next events. The leader alone runs it. */
export async function reconcile(deps: ReconcileDeps): Promise<ReconcileResult> {
  const snapshot = await observe(deps);
  const plan = decideDeliveries(snapshot);
  const result = await apply(deps, snapshot, plan);
  await keepUp(deps, plan.after);
  return result;
}
