import { done, requeueAfter } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';

export type ReconcileDeps = ObserveDeps & ApplyDeps;

/** After a step that takes longer. */
const RETRY_MS = 2_000;

/** One pass over the volumes of one namespace, which is the key. */
export async function reconcile(
  deps: ReconcileDeps,
  namespace: string,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  const { steps, afterMs } = decide(await observe(deps, namespace));
  let isDone = true;
  for (const step of steps) isDone = (await apply(deps, step, { namespace, signal })) && isDone;
  if (!isDone) return requeueAfter(RETRY_MS, 'a step takes longer');
  return afterMs === undefined ? done : requeueAfter(afterMs, 'the next look');
}
