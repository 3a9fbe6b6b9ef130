import { findCondition } from '@sandlot/api-types';
import type { Change, Pod } from '@sandlot/kube';

/** Of keys that are looked at before others. */
export const URGENT = 1;

/**
 * Whether a Pod has become Ready or has lost it: somebody waits for that, or must hear of it, before the next of many new
 * Sandboxes is begun.
 */
export function isUrgent({ old, next }: Pick<Change<Pod>, 'old' | 'next'>): boolean {
  return isPodReady(old) !== isPodReady(next);
}

function isPodReady(pod: Pod | undefined): boolean {
  return findCondition(pod?.status?.conditions, 'Ready')?.status === 'True';
}
