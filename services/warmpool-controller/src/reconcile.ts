import { mergePatchOf, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxWarmPool } from '@sandlot/api-types';
import { done, isConflict, isNotFound, KubeError, parseKey, requeueAfter } from '@sandlot/kube';
import type { EventRecorder, JsonObject, ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { templateKeyOf } from './wiring/cache.ts';
import { decide } from './decide.ts';
import { createMembers, deleteMembers, takeOver } from './members/write-members.ts';
import type { MemberDeps } from './members/write-members.ts';
import { SHORT_LIVED } from './history/history.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { Plan, Step } from './plan/plan.ts';
import { interrupts } from './refill/decide-refill.ts';
import { inRefill } from './telemetry/trace.ts';

export interface ReconcileDeps extends ObserveDeps, MemberDeps {
  readonly recorder: EventRecorder;
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
  deps.memory.forget(key);
  const { namespace = '', name } = parseKey(key);
  deps.metrics.forget(namespace, name);
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
    case 'create':
      return create(deps, pass, step);
    case 'takeOver':
      await takeOver(deps, { pool, signal, ...step });
      return done;
    case 'delete':
      await deleteMembers(deps, { pool, signal, ...step });
      return done;
    case 'writeStatus':
      return writeStatus(deps, pass, step);
    case 'wait':
      return requeueAfter(step.ms, step.reason);
    default:
      tell(deps, pool, step);
      return done;
  }
}

type Told = Extract<Step, { kind: 'remember' | 'measure' | 'note' | 'blame' }>;

/** Steps that change nothing in the API server. */
function tell({ memory, metrics, recorder }: ReconcileDeps, pool: SandboxWarmPool, step: Told): void {
  switch (step.kind) {
    case 'remember':
      memory.demanded(pool, step.demands);
      break;
    case 'measure':
      metrics.measured(pool, step);
      break;
    case 'note': {
      const { type, reason, message } = step;
      recorder.event({ object: pool, type, reason, message });
      break;
    }
    case 'blame':
      memory.failed(pool, { code: SHORT_LIVED, message: step.message, subject: step.subject });
  }
}

/** A failure is remembered, so that no event brings the next try before its time, and the status tells it. */
async function create(
  deps: ReconcileDeps,
  { pool, key, signal }: Pass,
  { count, template, yields, isShort, subject }: Step & { kind: 'create' },
): Promise<ReconcileResult> {
  const { memory, cache, clock } = deps;
  const goesOn = (): boolean => {
    const now = cache.pools.store.get(key);
    if (signal.aborted || now?.metadata.generation !== pool.metadata.generation) return false;
    if (cache.templates.store.get(templateKeyOf(pool))?.metadata.generation !== template.metadata.generation)
      return false;
    return !yields || !interrupts(memory.of(pool).adoptions, pool.spec.refill, clock.monotonic());
  };
  memory.refills(pool);
  const priority = isShort ? 'normal' : 'background';
  const input = { pool, template, count, priority, signal, goesOn } as const;
  const { asked, failure } = await inRefill(input, () => createMembers(deps, input));
  memory.spent(pool, asked);
  if (failure === undefined) {
    memory.succeeded(pool);
    return done;
  }
  if (!(failure instanceof KubeError) || failure.code === 'Aborted') throw failure;
  const message = `Members cannot be made (${failure.code}): ${withoutName(failure)}`;
  const waitMs = memory.failed(pool, { code: failure.code, message, subject });
  return requeueAfter(Math.max(waitMs, failure.retryAfterMs ?? 0), 'members could not be made');
}

/** Each try has another name: with it the status would change with every one. */
function withoutName({ message, key }: KubeError): string {
  const { name } = parseKey(key);
  return name === '' ? message : message.replaceAll(key, 'of the pool').replaceAll(name, '...');
}

async function writeStatus(
  { client, statusWrites }: ReconcileDeps,
  { pool, key, signal }: Pass,
  { status: wanted, urgent }: Step & { kind: 'writeStatus' },
): Promise<ReconcileResult> {
  const waitMs = statusWrites.waitMs(key);
  if (waitMs > 0 && !urgent) return requeueAfter(waitMs, 'the status was written a moment ago');
  // The watch may still show an older status than the one written last: both are brought to the wanted one.
  const status: JsonObject = { ...mergePatchOf(pool.status, wanted), ...mergePatchOf(statusWrites.last(key), wanted) };
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
