import { annotations } from '@sandlot/api-types';
import { RetryableError, done, keyOf, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decide } from './decide.ts';
import { requeueAtMs } from './lifetime/decide-requeue.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import { decideYieldMs } from './pacing/decide-yield.ts';
import { priorityOf } from './pacing/priority.ts';
import type { Snapshot } from './plan/snapshot.ts';
import type { Plan } from './plan/steps.ts';
import { TRUST_MS } from './writes/recent-writes.ts';

export type ReconcileDeps = ObserveDeps & Omit<ApplyDeps, 'priority'>;

/** More rounds than any pass needs. A pass that reaches it competes with other writers; the queue shares time better. */
const MAX_ROUNDS = 12;

/**
 * One pass over one Sandbox: observe once, then decide and apply until nothing is left to do. By then the conditions show
 * what the pass could not do, and the queue retries it with back-off. A pass with nothing to do makes no span.
 */
export async function reconcile(deps: ReconcileDeps, key: string): Promise<ReconcileResult> {
  const snapshot = await observe(deps, key);
  if (snapshot === undefined) return done;
  const plan = decide(snapshot);
  if (plan.length === 0) return finish(snapshot, isCacheBehind(deps, snapshot));
  const yieldMs = decideYieldMs(snapshot, plan);
  if (yieldMs > 0) return requeueAfter(yieldMs, 'claims are being served');
  const attributes = attributesOf(snapshot, plan);
  return withChildSpan({ name: spanNames.sandboxReconcile, attributes }, () => applyUntilDone(deps, snapshot, plan));
}

/** The span is a child of the operation that the Sandbox is in; outside an operation there is no span. */
function attributesOf({ sandbox: { metadata } }: Snapshot, plan: Plan): Record<string, string> {
  return {
    [spanAttributes.sandboxUid]: metadata.uid ?? '',
    [spanAttributes.namespace]: metadata.namespace ?? '',
    [spanAttributes.steps]: plan.map(({ kind }) => kind).join(','),
  };
}

async function applyUntilDone(deps: ReconcileDeps, first: Snapshot, firstPlan: Plan): Promise<ReconcileResult> {
  const applyDeps = { ...deps, priority: priorityOf(first.sandbox) };
  let snapshot = first;
  let plan = firstPlan;
  let hasCreated = false;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (plan.length === 0) return finish(snapshot, hasCreated || isCacheBehind(deps, snapshot));
    hasCreated ||= createsChild(plan);
    snapshot = await apply(applyDeps, snapshot, plan);
    if (plan.some((step) => step.kind === 'requeueNow')) return requeueAfter(0, 'second pass of the expiry');
    plan = decide(snapshot);
  }
  return requeueAfter(0, 'still changing');
}

/**
 * Throws when something failed that the queue has to retry; otherwise requeues for the next deadline. A pass that relied on
 * own writes which the caches do not show (`reliesOnOwnWrites`) is repeated once the caches are trusted again: they may
 * never show a creation, or show a Sandbox that somebody edited.
 */
function finish(snapshot: Snapshot, reliesOnOwnWrites: boolean): ReconcileResult {
  if (snapshot.failures.some(({ retryAtMs }) => retryAtMs === undefined)) {
    throw new RetryableError(snapshot.failures.map((failure) => failure.message).join('\n'));
  }
  const times = [requeueAtMs(snapshot), ...snapshot.failures.map(({ retryAtMs }) => retryAtMs)];
  const delays = [
    ...times.map((time) => (time === undefined ? undefined : Math.max(0, time - snapshot.nowMs))),
    reliesOnOwnWrites ? TRUST_MS : undefined,
  ].filter((delay) => delay !== undefined);
  return delays.length === 0 ? done : requeueAfter(Math.min(...delays), 'the next deadline');
}

/**
 * Whether the cache shows another Pod name than the one we wrote: it lags, or somebody has edited the name since. When the
 * response to our write arrives after its watch event, nothing tells these apart, and no further event requeues the key.
 */
function isCacheBehind({ caches }: ReconcileDeps, { sandbox: { metadata } }: Snapshot): boolean {
  const cached = caches.sandboxes.get(keyOf({ metadata }));
  const shown = cached?.metadata.annotations?.[annotations.podName];
  return cached !== undefined && shown !== metadata.annotations?.[annotations.podName];
}

function createsChild(plan: Plan): boolean {
  return plan.some(({ kind }) => kind === 'createPod' || kind === 'createService' || kind === 'createDisk');
}
