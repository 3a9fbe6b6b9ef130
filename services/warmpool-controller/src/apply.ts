import { sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxWarmPool } from '@sandlot/api-types';
import { done, isConflict, isNotFound, KubeError, parseKey, requeueAfter } from '@sandlot/kube';
import type { EventRecorder, OwnWrites, ReconcileResult } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { SHORT_LIVED } from './history/creation-backoff.ts';
import type { PoolHistories } from './history/pool-histories.ts';
import { createMembers } from './members/create-members.ts';
import type { CreateDeps } from './members/create-members.ts';
import { deleteMembers } from './members/delete-members.ts';
import { takeOverStrays } from './members/take-over-strays.ts';
import type { Plan, Step } from './plan/plan.ts';
import { needsInterruption } from './refill/adoption-pause.ts';
import type { StatusPace } from './status/status-pace.ts';
import { traceRefill } from './telemetry/trace.ts';
import { formatTemplateKey } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';

export interface ApplyDeps extends CreateDeps {
  readonly cache: Cache;
  readonly clock: Clock;
  readonly histories: PoolHistories;
  readonly recorder: EventRecorder;
  /** The pools of the cache, ahead of it by our status writes. */
  readonly pools: OwnWrites<SandboxWarmPool>;
  readonly statusPace: StatusPace;
}

export interface Pass {
  readonly pool: SandboxWarmPool;
  readonly key: string;
  readonly signal: AbortSignal;
}

/**
 * Carries out the steps in order. A step that fails does not keep later ones from running: the status reports the pool also
 * while members cannot be created. Rejects with the first failure; otherwise the earliest requeue of the steps.
 */
export async function apply(deps: ApplyDeps, pass: Pass, plan: Plan): Promise<ReconcileResult> {
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

async function applyStep(deps: ApplyDeps, pass: Pass, step: Step): Promise<ReconcileResult> {
  const { pool, signal } = pass;
  switch (step.kind) {
    case 'create':
      return refill(deps, pass, step);
    case 'takeOver':
      await takeOverStrays(deps, { pool, signal, strays: step.sandboxes });
      return done;
    case 'delete':
      await deleteMembers(deps, { pool, signal, members: step.members });
      return done;
    case 'writeStatus':
      return writeStatus(deps, pass, step);
    case 'requeue':
      return requeueAfter(step.afterMs, step.reason);
    default:
      applyLocally(deps, pool, step);
      return done;
  }
}

type LocalStep = Extract<Step, { kind: 'recordDemands' | 'updateMetrics' | 'event' | 'recordShortLived' }>;

/** Steps that send nothing the pass waits for. */
function applyLocally({ histories, metrics, recorder }: ApplyDeps, pool: SandboxWarmPool, step: LocalStep): void {
  switch (step.kind) {
    case 'recordDemands':
      histories.recordDemands(pool, step.demands);
      break;
    case 'updateMetrics':
      metrics.recordPool(pool, step);
      break;
    case 'event': {
      const { type, reason, message } = step;
      recorder.record({ object: pool, type, reason, message });
      break;
    }
    case 'recordShortLived':
      histories.recordFailure(pool, { code: SHORT_LIVED, message: step.message, subject: step.subject });
  }
}

/** Creates the members of one refill. A failure starts a back-off that events of the pool do not shorten. */
async function refill(deps: ApplyDeps, pass: Pass, step: Step & { kind: 'create' }): Promise<ReconcileResult> {
  const { histories } = deps;
  const { pool, signal } = pass;
  const { count, template, golden, isShort, subject } = step;
  histories.recordRefillStart(pool);
  const priority = isShort ? 'normal' : 'background';
  const canContinue = (): boolean => canContinueRefill(deps, pass, step);
  const input = { pool, template, golden, count, priority, signal, canContinue } as const;
  const { asked, failure } = await traceRefill(input, () => createMembers(deps, input));
  histories.recordCreations(pool, asked);
  if (failure === undefined) {
    histories.recordSuccess(pool);
    return done;
  }
  if (!(failure instanceof KubeError) || failure.code === 'Aborted') throw failure;
  const message = `Members cannot be made (${failure.code}): ${withoutName(failure)}`;
  const waitMs = histories.recordFailure(pool, { code: failure.code, message, subject });
  return requeueAfter(Math.max(waitMs, failure.retryAfterMs ?? 0), 'members could not be made');
}

/** Whether the plan still holds between two waves: same spec, same template, and no burst that the refill yields to. */
function canContinueRefill(
  { cache, pools, clock, histories }: ApplyDeps,
  { pool, key, signal }: Pass,
  { template, yields }: Step & { kind: 'create' },
): boolean {
  if (signal.aborted || pools.get(key)?.metadata.generation !== pool.metadata.generation) return false;
  const current = cache.templates.store.get(formatTemplateKey(pool));
  if (current?.metadata.generation !== template.metadata.generation) return false;
  return !yields || !needsInterruption(histories.of(pool).adoptions, pool.spec.refill, clock.monotonic());
}

/** Each attempt uses another name; with it in the message, each attempt would change the status. */
function withoutName({ message, key }: KubeError): string {
  const { name } = parseKey(key);
  return name === '' ? message : message.replaceAll(key, 'of the pool').replaceAll(name, '...');
}

/** How long the cache may lag behind what a write met. */
const CATCH_UP_MS = 1_000;

async function writeStatus(
  { client, clock, pools, statusPace }: ApplyDeps,
  { pool, key, signal }: Pass,
  { patch: status, notBeforeMs = -Infinity }: Step & { kind: 'writeStatus' },
): Promise<ReconcileResult> {
  const waitMs = notBeforeMs - clock.monotonic();
  if (waitMs > 0) return requeueAfter(waitMs, 'the last status write was a moment ago');
  const { namespace, name = '', uid = '' } = pool.metadata;
  statusPace.recordWrite(key);
  try {
    const options = { subresource: 'status', priority: 'background', signal } as const;
    await pools.write(key, () =>
      client.mergePatch(sandboxWarmPools, { namespace, name }, { metadata: { uid }, status }, options),
    );
  } catch (error) {
    // Another pool has the name, or the API server gave up on competing writes: the next pass sees which.
    if (isConflict(error)) return requeueAfter(CATCH_UP_MS, 'the status write met a conflict');
    if (!isNotFound(error)) throw error;
  }
  return done;
}
