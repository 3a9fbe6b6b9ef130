import { done, parseKey } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';

export type ReconcileDeps = ObserveDeps & ApplyDeps;

/** One pass over one pool: observe, decide, apply. */
export async function reconcilePool(
  deps: ReconcileDeps,
  key: string,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const pool = deps.pools.get(key);
  if (pool !== undefined) return apply(deps, { pool, key, signal }, decide(observe(deps, pool)));
  forgetPool(deps, key);
  return done;
}

function forgetPool({ expectations, statusPace, histories, metrics }: ReconcileDeps, key: string): void {
  expectations.forgetOwner(key);
  statusPace.forget(key);
  histories.forget(key);
  const { namespace = '', name } = parseKey(key);
  metrics.forget(namespace, name);
}
