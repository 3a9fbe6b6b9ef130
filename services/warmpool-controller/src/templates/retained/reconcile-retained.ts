import {
  findTemplateOfPolicy,
  formatBaselineNetworkPolicyName,
  formatNetworkPolicyName,
  labels,
  sandboxes,
} from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import {
  done,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  networkPolicies,
  parseKey,
  pods,
  requeueAfter,
} from '@sandlot/kube';
import type { KubeClient, NetworkPolicy, ReconcileContext, ReconcileResult, Store } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';
import type { PolicyMetrics } from '../../telemetry/policy-metrics.ts';
import { BY_TEMPLATE_HASH, formatTemplateHashKey } from '../../wiring/cache.ts';
import { writePolicy } from '../network/write-policy.ts';
import { decideRetained, SETTLE_MS } from './decide-retained.ts';
import type { RetainedStep } from './decide-retained.ts';
import type { RetainedMemory } from './retained-memory.ts';
import type { RetainedSnapshot } from './snapshot.ts';

export interface RetainedDeps {
  readonly client: KubeClient;
  readonly metrics: PolicyMetrics;
  readonly policies: Store<NetworkPolicy>;
  readonly sandboxes: Store<Sandbox>;
  readonly retained: RetainedMemory;
}

/** How long the cache may lag behind what a write met. */
const CATCH_UP_MS = 1_000;

/** One pass over the policies that a template which is gone has left. */
export async function reconcileRetained(
  deps: RetainedDeps,
  templateKey: string,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  const snapshots = observeRetained(deps, templateKey);
  const isOver = snapshots.every(({ present, hasSandboxes }) => present === undefined && !hasSandboxes);
  if (isOver) forgetRetained(deps.retained, templateKey);
  const waits: number[] = [];
  for (const snapshot of snapshots) waits.push(await applyRetained(deps, decideRetained(snapshot), signal));
  const waitMs = Math.min(...waits);
  return waitMs === Infinity ? done : requeueAfter(waitMs, 'a policy whose template is gone may be needed');
}

/** For a template that exists: its policies follow it, not what they were. */
export function forgetRetained(retained: RetainedMemory, templateKey: string): void {
  const { namespace, name } = parseKey(templateKey);
  retained.forget(
    templateKey,
    listPolicyNames(name).map((policy) => `${namespace ?? ''}/${policy}`),
  );
}

const listPolicyNames = (template: string): readonly string[] => [
  formatNetworkPolicyName(template),
  formatBaselineNetworkPolicyName(template),
];

/** From caches and memory alone: no request. */
function observeRetained(deps: RetainedDeps, templateKey: string): readonly RetainedSnapshot[] {
  const { policies, retained } = deps;
  const { namespace, name: template } = parseKey(templateKey);
  const hashKey = formatTemplateHashKey({ namespace, name: template });
  const hasSandboxes = deps.sandboxes.countIndex(BY_TEMPLATE_HASH, hashKey) > 0;
  const unusedMs = retained.measureUnusedMs(templateKey, hasSandboxes);
  return listPolicyNames(template).map((policy) => {
    const key = `${namespace ?? ''}/${policy}`;
    const deleted = retained.findDeleted(key);
    return { template, present: policies.get(key), deleted, hasSandboxes, unusedMs };
  });
}

/** Milliseconds until another look is due; Infinity if only a change makes one due. */
async function applyRetained(deps: RetainedDeps, step: RetainedStep, signal: AbortSignal): Promise<number> {
  try {
    if (step.kind === 'restore') await restore(deps, step.policy, signal);
    if (step.kind === 'collect') return await collect(deps, step.present, signal);
  } catch (error) {
    return getRetryMs(error, step);
  }
  return step.kind === 'wait' ? step.ms : Infinity;
}

/** A namespace that is being deleted accepts nothing new, until its Sandboxes are gone too. */
function getRetryMs(error: unknown, { kind }: RetainedStep): number {
  if (isForbidden(error) && kind === 'restore') return SETTLE_MS;
  if (isAlreadyExists(error) || isConflict(error) || isNotFound(error)) return CATCH_UP_MS;
  throw error;
}

async function restore({ client, metrics }: RetainedDeps, policy: NetworkPolicy, signal: AbortSignal): Promise<void> {
  await client.create(networkPolicies, policy, { signal });
  metrics.count('create');
}

/** Asks the API server before the delete, because the cache may be behind. */
async function collect(deps: RetainedDeps, present: NetworkPolicy, signal: AbortSignal): Promise<number> {
  if (await isInUse(deps.client, present, signal)) return SETTLE_MS;
  deps.retained.dismiss(present);
  await writePolicy({ ...deps, signal }, { kind: 'delete', present });
  return Infinity;
}

/** A Pod may outlive its Sandbox, for example in its grace period, and needs its rules to the end. */
async function isInUse(client: KubeClient, policy: NetworkPolicy, signal: AbortSignal): Promise<boolean> {
  const labelSelector = `${labels.templateRefHash}=${nameHash(findTemplateOfPolicy(policy) ?? '')}`;
  const options = { namespace: policy.metadata.namespace, labelSelector, limit: 1, signal };
  const [boxes, running] = await Promise.all([client.list(sandboxes, options), client.list(pods, options)]);
  return boxes.items.length + running.items.length > 0;
}
