import { annotations, effectiveMode, findCondition, labels, launchTypes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Change, Pod, Priority } from '@sandlot/kube';
import { isReadyNow } from '../status/status.ts';

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

/** Of keys that are looked at after others: nobody waits for a Sandbox that is not claimed. */
export const PATIENT = -1;

/**
 * How urgent what is written for a Sandbox is to the API server. What follows the adoption of one that is Ready steps back
 * before what somebody waits for. A member of a pool does not: when it may be made, its pool has decided.
 */
export function priorityOf(sandbox: Sandbox): Priority {
  return isAftermath(sandbox) ? 'background' : 'normal';
}

/** An adopted Sandbox that is Ready, of which only labels and the generation are still to be told. */
export function isAftermath({ metadata, spec, status }: Sandbox): boolean {
  const isAdopted = metadata.labels?.[labels.launchType] === launchTypes.warm;
  const isImageAsked = metadata.annotations?.[annotations.inplaceImage] !== undefined;
  // Its claim waits until the Pod has left its template's network rules.
  const hasOwnNetwork = metadata.labels?.[labels.network] !== undefined;
  const isUntold = status?.observedGeneration !== metadata.generation;
  return (
    isAdopted && isUntold && !isImageAsked && !hasOwnNetwork && isReadyNow(status) && effectiveMode(spec) === 'Running'
  );
}
