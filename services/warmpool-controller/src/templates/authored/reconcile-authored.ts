import { eventReasons } from '@sandlot/api-types';
import { done, isAlreadyExists, isConflict, isNotFound, requeueAfter } from '@sandlot/kube';
import type { EventRecorder, KubeClient, NetworkPolicy, ReconcileContext, ReconcileResult } from '@sandlot/kube';
import type { PolicyMetrics } from '../../telemetry/policy-metrics.ts';
import { writePolicy } from '../network/write-policy.ts';
import { decideAuthored } from './decide-authored.ts';
import { observeAuthored } from './observe-authored.ts';
import type { ObserveAuthoredDeps } from './observe-authored.ts';

export interface AuthoredDeps extends ObserveAuthoredDeps {
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly metrics: PolicyMetrics;
}

/** How long the cache may lag behind what a write met. */
const CATCH_UP_MS = 1_000;

/** One pass over a namespace's policy for directly authored Sandboxes. */
export async function reconcileAuthored(
  deps: AuthoredDeps,
  namespace: string,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const { client, metrics } = deps;
  const step = decideAuthored(observeAuthored(deps, namespace));
  if (step.kind === 'leave') warn(deps, step.present);
  try {
    await writePolicy({ client, metrics, signal }, step);
  } catch (error) {
    if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    return requeueAfter(CATCH_UP_MS, 'the cache does not show the NetworkPolicy as it is');
  }
  return done;
}

function warn({ metrics, recorder }: AuthoredDeps, policy: NetworkPolicy): void {
  const message =
    'It has the name of the policy for directly authored Sandboxes and was not made by Sandlot, so it is left alone: delete or rename it';
  metrics.count('not_controlled');
  recorder.record({ object: policy, type: 'Warning', reason: eventReasons.networkPolicyNotControlled, message });
}
