import { isDeepStrictEqual } from 'node:util';
import { labels, memoryStates } from '@sandlot/api-types';
import type { PodDisruptionBudget } from '@sandlot/kube/objects';

/** Name of the PodDisruptionBudget that a namespace with memory to protect has. */
export const BUDGET_NAME = 'sandlot-memory';

/**
 * More than any namespace has, so no eviction is ever allowed. A percentage, or `maxUnavailable`, would make Kubernetes ask
 * for the scale of each Sandbox, which is 0 for those with an operatingMode.
 */
const MIN_AVAILABLE = 2_147_483_647;

const SELECTED = { [labels.memory]: memoryStates.protected };

export type BudgetStep = 'create' | 'delete' | 'keep';

/** What becomes of the budget of a namespace. One that was edited is deleted, and the next pass creates it anew. */
export function decideBudget(isNeeded: boolean, present: PodDisruptionBudget | undefined): BudgetStep {
  if (present === undefined) return isNeeded ? 'create' : 'keep';
  if (present.metadata.deletionTimestamp !== undefined) return 'keep';
  return isNeeded && isAsMade(present) ? 'keep' : 'delete';
}

export function buildBudget(namespace: string): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { namespace, name: BUDGET_NAME, labels: SELECTED },
    spec: { minAvailable: MIN_AVAILABLE, selector: { matchLabels: SELECTED } },
  };
}

function isAsMade({ spec }: PodDisruptionBudget): boolean {
  return isDeepStrictEqual(spec, buildBudget('').spec);
}
