import { annotations } from '@sandlot/api-types';
import { RetryableError, done, keyOf, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { courtesyMs } from './pacing/after-adoption.ts';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decide, wakeAtMs } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import { TRUST_MS } from './writes/recent-writes.ts';
import type { Snapshot } from './plan/snapshot.ts';
import type { Plan } from './plan/steps.ts';
import { priorityOf } from './pacing/priority.ts';

export type ReconcileDeps = ObserveDeps & Omit<ApplyDeps, 'priority'>;

/** More rounds than any pass needs; reaching it means that somebody keeps changing the object, and the queue is fairer. */
const MAX_ROUNDS = 12;

/**
 * One pass over one Sandbox: observe, then decide and apply until nothing is left to do. What the pass could not do is in
 * the conditions by then and is tried again with the queue's backoff. A pass with nothing to do leaves no trace.
 */
export async function reconcile(deps: ReconcileDeps, key: string): Promise<ReconcileResult> {
  const snapshot = await observe(deps, key);
  if (snapshot === undefined) return done;
  const plan = decide(snapshot);
  if (plan.length === 0) return conclude(snapshot, isCacheBehind(deps, snapshot));
  const yieldMs = courtesyMs(snapshot, plan);
  if (yieldMs > 0) return requeueAfter(yieldMs, 'claims are being served');
  const attributes = attributesOf(snapshot, plan);
  return withChildSpan({ name: spanNames.sandboxReconcile, attributes }, () => settle(deps, snapshot, plan));
}

/** A sibling of the other passes, under the operation that the Sandbox is in; without one there is no span. */
function attributesOf({ sandbox: { metadata } }: Snapshot, plan: Plan): Record<string, string> {
  return {
    [spanAttributes.sandboxUid]: metadata.uid ?? '',
    [spanAttributes.namespace]: metadata.namespace ?? '',
    [spanAttributes.steps]: plan.map(({ kind }) => kind).join(','),
  };
}

async function settle(deps: ReconcileDeps, first: Snapshot, firstPlan: Plan): Promise<ReconcileResult> {
  const applyDeps = { ...deps, priority: priorityOf(first.sandbox) };
  let snapshot = first;
  let plan = firstPlan;
  let hasCreated = false;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (plan.length === 0) return conclude(snapshot, hasCreated || isCacheBehind(deps, snapshot));
    hasCreated ||= createsSomething(plan);
    snapshot = await apply(applyDeps, snapshot, plan);
    if (plan.some((step) => step.kind === 'lookAgain')) return requeueAfter(0, 'second pass of the expiry');
    plan = decide(snapshot);
  }
  return requeueAfter(0, 'still changing');
}

/**
 * Two Pods are nobody's mistake to retry: only a Pod event changes that. What rests on our own memory is looked at again
 * once the caches are believed over it: a creation, in case they never show it, and a Sandbox that they show otherwise.
 */
function conclude(snapshot: Snapshot, isFromMemory: boolean): ReconcileResult {
  if (snapshot.failures.some(({ retryAtMs }) => retryAtMs === undefined)) {
    throw new RetryableError(snapshot.failures.map((failure) => failure.message).join('\n'));
  }
  const wakeAt = wakeAtMs(snapshot);
  const times = [wakeAt, ...snapshot.failures.map(({ retryAtMs }) => retryAtMs)];
  const delays = [
    ...times.map((time) => (time === undefined ? undefined : Math.max(0, time - snapshot.nowMs))),
    isFromMemory ? TRUST_MS : undefined,
  ].filter((delay) => delay !== undefined);
  return delays.length === 0 ? done : requeueAfter(Math.min(...delays), 'the next deadline');
}

/**
 * The cache shows another Pod name than the one we wrote: it lags, or somebody edited it since. An answer that comes after
 * its own watch event leaves no way to tell, and no further event would have us look.
 */
function isCacheBehind({ caches }: ReconcileDeps, { sandbox: { metadata } }: Snapshot): boolean {
  const cached = caches.sandboxes.get(keyOf({ metadata }));
  const shown = cached?.metadata.annotations?.[annotations.podName];
  return cached !== undefined && shown !== metadata.annotations?.[annotations.podName];
}

function createsSomething(plan: Plan): boolean {
  return plan.some(({ kind }) => kind === 'createPod' || kind === 'createService' || kind === 'createClaim');
}
