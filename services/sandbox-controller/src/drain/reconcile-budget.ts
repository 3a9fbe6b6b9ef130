import { labels } from '@sandlot/api-types';
import {
  done,
  formatKey,
  isAlreadyExists,
  isNotFound,
  podDisruptionBudgets,
  pods as podResource,
  requeueAfter,
} from '@sandlot/kube';
import type { KubeClient, Pod, PodDisruptionBudget, ReconcileContext, ReconcileResult, Store } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import { BY_PROTECTED_NAMESPACE } from '../wiring/informers.ts';
import { BUDGET_NAME, buildBudget, decideBudget } from './decide-budget.ts';
import { hasSandbox } from './sources.ts';

export interface BudgetDeps {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly pods: Store<Pod>;
  readonly budgets: Store<PodDisruptionBudget>;
}

/** A budget of that name which is not ours; or the cache lags. */
const FOREIGN_RECHECK_MS = 60_000;

/**
 * Keeps one PodDisruptionBudget in each namespace with Pods whose memory is to be saved before an eviction. Key: the
 * namespace.
 */
export async function reconcileBudget(
  deps: BudgetDeps,
  namespace: string,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  const { client, pods, budgets } = deps;
  const held = [...pods.listByIndex(BY_PROTECTED_NAMESPACE, namespace)];
  for (const pod of held) if (!hasSandbox(pod)) await letGo(client, pod, signal);
  const present = budgets.get(formatKey({ namespace, name: BUDGET_NAME }));
  switch (decideBudget(held.some(hasSandbox), present)) {
    case 'create':
      return create(deps, namespace, signal);
    case 'delete':
      await remove(client, present, signal);
      return done;
    case 'keep':
      return done;
  }
}

async function create({ client, log }: BudgetDeps, namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
  try {
    await client.create(podDisruptionBudgets, buildBudget(namespace), { signal });
    return done;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    log.warn(
      { namespace, budget: BUDGET_NAME },
      'a PodDisruptionBudget of another author has this name, so evictions do not wait for saves; delete or rename it',
    );
    return requeueAfter(FOREIGN_RECHECK_MS, 'another look at the budget');
  }
}

async function remove(
  client: KubeClient,
  present: PodDisruptionBudget | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name = '', uid } = present?.metadata ?? {};
  try {
    await client.delete(podDisruptionBudgets, { namespace, name }, { uid, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function letGo(client: KubeClient, { metadata }: Pod, signal: AbortSignal): Promise<void> {
  const { namespace, name = '', uid } = metadata;
  try {
    const patch = { metadata: { uid, labels: { [labels.memory]: null } } };
    await client.mergePatch(podResource, { namespace, name }, patch, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
