import { mergePatchOf, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxWarmPool } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { done, isConflict, isNotFound, requeueAfter } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { decide } from './decide.ts';
import { announce } from './events.ts';
import { createMembers, deleteMembers } from './members.ts';
import type { MemberDeps } from './members.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { Plan, Step } from './plan.ts';

export interface ReconcileDeps extends ObserveDeps, MemberDeps {
  readonly bus: Bus;
}

/** One pass over one pool: observe, decide, apply. */
export async function reconcilePool(
  deps: ReconcileDeps,
  key: string,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const pool = deps.cache.pools.store.get(key);
  if (pool !== undefined) return apply(deps, { pool, key, signal }, decide(observe(deps, pool)));
  deps.expectations.forgetOwner(key);
  deps.statusWrites.forget(key);
  return done;
}

interface Pass {
  readonly pool: SandboxWarmPool;
  readonly key: string;
  readonly signal: AbortSignal;
}

/** A step that fails keeps no other from being taken: how a pool stands is written also while members cannot be made. */
async function apply(deps: ReconcileDeps, pass: Pass, plan: Plan): Promise<ReconcileResult> {
  const failures: unknown[] = [];
  let result: ReconcileResult = done;
  for (const step of plan) {
    try {
      const after = await applyStep(deps, pass, step);
      if (after.kind !== 'done' && (result.kind === 'done' || after.ms < result.ms)) result = after;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return result;
}

async function applyStep(deps: ReconcileDeps, pass: Pass, step: Step): Promise<ReconcileResult> {
  const { pool, signal } = pass;
  switch (step.kind) {
    case 'announce':
      announce(deps.bus, pool, { ...step, nowMs: deps.nowMs() });
      return done;
    case 'create':
      await createMembers(deps, { pool, signal, ...step });
      return done;
    case 'delete':
      await deleteMembers(deps, { pool, signal, ...step });
      return done;
    case 'writeStatus':
      return writeStatus(deps, pass, step);
    case 'wait':
      return requeueAfter(step.ms, step.reason);
  }
}

async function writeStatus(
  { client, statusWrites }: ReconcileDeps,
  { pool, key, signal }: Pass,
  { status: wanted, urgent }: Step & { kind: 'writeStatus' },
): Promise<ReconcileResult> {
  const waitMs = statusWrites.waitMs(key);
  if (waitMs > 0 && !urgent) return requeueAfter(waitMs, 'the status was written a moment ago');
  const status = mergePatchOf(pool.status, wanted);
  if (status === undefined) return done;
  const { namespace, name = '', uid = '' } = pool.metadata;
  statusWrites.record(key, wanted);
  try {
    const options = { subresource: 'status', priority: 'background', signal } as const;
    await client.mergePatch(sandboxWarmPools, { namespace, name }, { metadata: { uid }, status }, options);
  } catch (error) {
    // The pool is gone, or another one bears its name: there is nobody to tell.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  return done;
}
