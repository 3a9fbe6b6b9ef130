import { podDisruptionBudgets } from '@sandlot/kube';
import type { ApiObject } from '../storage/api-object.ts';
import { setAt, valueAt } from '../storage/api-object.ts';
import type { Registry, Target } from '../storage/registry.ts';
import { ApiError, internalError } from './api-error.ts';

/**
 * Refuses an eviction as the real server does, and counts one that it allows. No disruption controller runs here: a budget
 * allows nothing until somebody writes its status.
 */
export function checkBudgets(registry: Registry, target: Target): void {
  const pod = registry.read(target);
  if (needsNoBudget(pod)) return;
  const definition = registry.definitions.ofResource(podDisruptionBudgets);
  const all = [...registry.storage.table(definition.table).values()];
  const [budget, ...others] = all.filter((each) => isBudgetOf(each, pod));
  if (others.length > 0) {
    throw internalError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  if (budget === undefined) return;
  const after = withOneLess(budget);
  registry.overwrite({ ...target, definition, version: 'v1', name: budget.metadata.name ?? '' }, after);
}

/** Nothing is lost with a Pod that has not started, has ended or is ending. */
function needsNoBudget(pod: ApiObject): boolean {
  const phase = valueAt(pod, ['status', 'phase']);
  const isDone = phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending';
  return isDone || pod.metadata.deletionTimestamp !== undefined;
}

/** Of selectors only `matchLabels` counts here. */
function isBudgetOf(budget: ApiObject, { metadata }: ApiObject): boolean {
  const wanted = Object.entries(valueAt(budget, ['spec', 'selector', 'matchLabels']) ?? {});
  return (
    budget.metadata.namespace === metadata.namespace &&
    wanted.length > 0 &&
    wanted.every(([key, value]) => metadata.labels?.[key] === value)
  );
}

function withOneLess(budget: ApiObject): ApiObject {
  const { name = '', generation = 1 } = budget.metadata;
  const observed = Number(valueAt(budget, ['status', 'observedGeneration']) ?? 0);
  const allowed = Number(valueAt(budget, ['status', 'disruptionsAllowed']) ?? 0);
  if (observed < generation) throw refusal(`The disruption budget ${name} is still being processed by the server.`);
  if (allowed <= 0) throw refusal(`The disruption budget ${name} allows no disruption.`);
  const after = structuredClone(budget);
  setAt(after, ['status', 'disruptionsAllowed'], allowed - 1);
  return after;
}

function refusal(why: string): ApiError {
  const message = "Cannot evict pod as it would violate the pod's disruption budget.";
  const details = { causes: [{ reason: 'DisruptionBudget', message: why }] };
  return new ApiError({ code: 429, reason: 'TooManyRequests', message, details });
}
