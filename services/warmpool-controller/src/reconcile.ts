import { mergePatchOf, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { done, isConflict, isNotFound, requeueAfter } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { decide } from './decide.ts';
import { announce } from './events.ts';
import { createMembers, deleteMembers } from './members.ts';
import type { MemberDeps } from './members.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { StatusPacer } from './pacer.ts';
import type { Step } from './plan.ts';

export interface ReconcileDeps extends ObserveDeps, MemberDeps {
  readonly bus: Bus;
  readonly pacer: StatusPacer;
}

/** One pass over one pool: observe, decide, apply. */
export async function reconcilePool(
  deps: ReconcileDeps,
  key: string,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const pool = deps.cache.pools.store.get(key);
  if (pool === undefined) {
    deps.expectations.forgetOwner(key);
    deps.pacer.forget(key);
    return done;
  }
  let result: ReconcileResult = done;
  for (const step of decide(observe(deps, pool))) {
    const after = await applyStep(deps, { pool, key, signal: context.signal }, step);
    if (after.kind !== 'done') result = after;
  }
  return result;
}

interface Pass {
  readonly pool: SandboxWarmPool;
  readonly key: string;
  readonly signal: AbortSignal;
}

async function applyStep(deps: ReconcileDeps, { pool, key, signal }: Pass, step: Step): Promise<ReconcileResult> {
  switch (step.kind) {
    case 'create':
      await createMembers(deps, { pool, signal, ...step });
      return done;
    case 'delete':
      await deleteMembers(deps, { pool, signal, ...step });
      return done;
    case 'writeStatus':
      return writeStatus(deps, { pool, key, signal }, step.status);
    case 'announce':
      announce(deps.bus, pool, { ...step, nowMs: deps.nowMs() });
      return done;
  }
}

async function writeStatus(
  deps: ReconcileDeps,
  { pool, key, signal }: Pass,
  wanted: SandboxWarmPoolStatus,
): Promise<ReconcileResult> {
  const waitMs = deps.pacer.waitMs(key);
  if (waitMs > 0) return requeueAfter(waitMs, 'the status was written a moment ago');
  const status = mergePatchOf(pool.status, wanted);
  if (status === undefined) return done;
  const { namespace, name = '', uid } = pool.metadata;
  try {
    const options = { subresource: 'status', priority: 'background', signal } as const;
    await deps.client.mergePatch(sandboxWarmPools, { namespace, name }, { metadata: { uid }, status }, options);
  } catch (error) {
    // The pool is gone, or another one bears its name: there is nobody to tell.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  deps.pacer.wrote(key);
  return done;
}
