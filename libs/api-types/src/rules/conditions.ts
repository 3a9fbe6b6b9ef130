import type { Condition as KubeCondition } from '@sandlot/kube/objects';

/** A condition as Sandlot writes it: complete and for one generation. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  observedGeneration?: number | undefined;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

/** A condition before {@link setCondition} decides when it last changed. */
export type NextCondition = Omit<Condition, 'lastTransitionTime'>;

/** The condition of that type; `undefined` when the list has none. Works on Pod conditions too. */
export function findCondition<C extends KubeCondition>(list: readonly C[] | undefined, type: string): C | undefined {
  return list?.find((condition) => condition.type === type);
}

/**
 * A list with `next` in place of the condition of its type, sorted by type so that no status patch repeats for ever.
 * `lastTransitionTime` moves to `nowRfc3339` (whole seconds) only when the status changed.
 */
export function setCondition(
  list: readonly Condition[] | undefined,
  next: NextCondition,
  nowRfc3339: string,
): Condition[] {
  const before = findCondition(list, next.type);
  const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : nowRfc3339;
  const others = removeCondition(list, next.type);
  return [...others, { ...next, lastTransitionTime }].sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** A list without the condition of that type. */
export function removeCondition(list: readonly Condition[] | undefined, type: string): Condition[] {
  return (list ?? []).filter((condition) => condition.type !== type);
}

/** Epoch milliseconds as metav1.Time: UTC, whole seconds, no fraction. */
export function formatRfc3339(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
