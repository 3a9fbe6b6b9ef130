import { eventReasons } from '@sandlot/api-types';
import { done, isAlreadyExists, isConflict, isNotFound, requeueAfter } from '@sandlot/kube';
import type { EventRecorder, KubeClient, NetworkPolicy, ReconcileContext, ReconcileResult, Store } from '@sandlot/kube';
import type { AuthoredSandboxes } from './authored-sandboxes.ts';
import { decideAuthored } from './decide-authored.ts';
import type { PolicyStep } from '../decide.ts';
import type { PolicyMetrics } from '../network/metrics.ts';
import { createPolicy, deletePolicy, replacePolicy } from '../network/write-policy.ts';
import type { PolicyWriter } from '../network/write-policy.ts';
import { AUTHORED_POLICY_NAME } from '../network/policy.ts';
import type { NetworkSettings } from '../network/settings.ts';

export interface AuthoredDeps {
  readonly client: KubeClient;
  readonly authored: AuthoredSandboxes | undefined;
  readonly policies: Store<NetworkPolicy>;
  readonly network: NetworkSettings;
  readonly recorder: EventRecorder;
  readonly metrics: PolicyMetrics;
}

/** The cache did not show what a write met; it will in a moment. */
const CATCH_UP_MS = 1_000;

/** One pass over the policy that a namespace has for directly authored Sandboxes; the key is the namespace. */
export async function reconcileAuthored(
  deps: AuthoredDeps,
  namespace: string,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const { authored, policies, network, recorder, metrics } = deps;
  const policy = policies.get(`${namespace}/${AUTHORED_POLICY_NAME}`);
  const sandboxes = authored?.in(namespace) ?? [];
  const step = decideAuthored({ namespace, sandboxes, policy, network });
  if (step.kind === 'leave') {
    const message =
      'It has the name of the policy for directly authored Sandboxes and was not made by Sandlot, so it is left alone: delete or rename it';
    metrics.count('not_controlled');
    recorder.event({ object: step.present, type: 'Warning', reason: eventReasons.networkPolicyNotControlled, message });
  }
  try {
    await take({ ...deps, signal }, step);
  } catch (error) {
    if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    return requeueAfter(CATCH_UP_MS, 'the NetworkPolicy is not as the cache shows it');
  }
  return done;
}

async function take(writer: PolicyWriter, step: PolicyStep): Promise<void> {
  if (step.kind === 'create') await createPolicy(writer, step.wanted);
  if (step.kind === 'replace') await replacePolicy(writer, step.present, step.wanted);
  if (step.kind === 'delete') await deletePolicy(writer, step.present);
}
