import { hasSignOfPool, labels, memoryStates, needsHibernation, toleratesDrain } from '@sandlot/api-types';
import type { MemoryState } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';

/**
 * The label `sandlot.dev/memory` that the Pod has to have; undefined: none. What could not be saved stays `unsaved` for as
 * long as the node is being emptied. Members of pools hold no work yet.
 */
export function findMemoryState(
  { sandbox, settings, drain }: Pick<Snapshot, 'sandbox' | 'settings' | 'drain'>,
  pod?: Pod,
): MemoryState | undefined {
  const { spec } = sandbox;
  if (!settings.drainEnabled || !needsHibernation(spec) || hasSignOfPool(sandbox)) return undefined;
  if (toleratesDrain(spec.podTemplate.spec)) return undefined;
  const isGivenUp = drain !== undefined && pod?.metadata.labels?.[labels.memory] === memoryStates.unsaved;
  return isGivenUp ? memoryStates.unsaved : memoryStates.protected;
}

export function hasMemoryState({ metadata }: Pod): boolean {
  return metadata.labels?.[labels.memory] !== undefined;
}

/** Whether evictions of the Pod wait until its memory is saved. */
export function isProtected({ metadata }: Pod): boolean {
  return metadata.labels?.[labels.memory] === memoryStates.protected;
}

/** Whether the Pod has memory to save before its node may go. */
export function isMover(pod: Pod): boolean {
  return isProtected(pod) && pod.status?.phase === 'Running' && !isTerminating(pod);
}
