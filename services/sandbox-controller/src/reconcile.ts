import { RetryableError, done, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { apply } from './apply.ts';
import type { ApplyDeps } from './apply.ts';
import { decide } from './decide.ts';
import { requeueAtMs } from './lifetime/decide-requeue.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import { getPriority } from './pacing/priority.ts';
import type { Snapshot } from './plan/snapshot.ts';
import type { Plan } from './plan/steps.ts';

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
  if (plan.length === 0) return finish(snapshot);
  const attributes = buildAttributes(snapshot, plan);
  return withChildSpan({ name: spanNames.sandboxReconcile, attributes }, () => applyUntilDone(deps, snapshot, plan));
}

/** The span is a child of the operation that the Sandbox is in; outside an operation there is no span. */
function buildAttributes({ sandbox: { metadata } }: Snapshot, plan: Plan): Record<string, string> {
  return {
    [spanAttributes.sandboxUid]: metadata.uid ?? '',
    [spanAttributes.namespace]: metadata.namespace ?? '',
    [spanAttributes.steps]: plan.map(({ kind }) => kind).join(','),
  };
}

async function applyUntilDone(deps: ReconcileDeps, first: Snapshot, firstPlan: Plan): Promise<ReconcileResult> {
  const applyDeps = { ...deps, priority: getPriority(first.sandbox) };
  let snapshot = first;
  let plan = firstPlan;

  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (plan.length === 0) return finish(snapshot);
    snapshot = await apply(applyDeps, snapshot, plan);
    if (plan.some((step) => step.kind === 'requeueNow')) return requeueAfter(0, 'second pass of the expiry');
    plan = decide(snapshot);
  }
  return requeueAfter(0, 'still changing');
}

/** Throws when something failed that the queue has to retry; otherwise requeues for the next deadline. */
function finish(snapshot: Snapshot): ReconcileResult {
  if (snapshot.failures.some(({ retryAtMs }) => retryAtMs === undefined)) {
    throw new RetryableError(snapshot.failures.map((failure) => failure.message).join('\n'));
  }
  const times = [requeueAtMs(snapshot), ...snapshot.failures.map(({ retryAtMs }) => retryAtMs)].filter(
    (time) => time !== undefined,
  );
  if (times.length === 0) return done;
  return requeueAfter(Math.max(0, Math.min(...times) - snapshot.nowMs), 'the next deadline');
}
