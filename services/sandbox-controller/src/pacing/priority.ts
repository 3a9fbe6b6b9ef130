import { annotations, resolveMode, labels, launchTypes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Priority } from '@sandlot/kube';
import { isReadyNow } from '../status/status.ts';

/**
 * Priority of this Sandbox's requests to the API server. What follows the adoption of a Ready Sandbox steps back. A pool
 * member does not: its pool has already decided when it is created.
 */
export function getPriority(sandbox: Sandbox): Priority {
  return isAfterAdoption(sandbox) ? 'background' : 'normal';
}

/** An adopted Sandbox that is Ready: only labels of its Pod and the generation in its status are outstanding. */
export function isAfterAdoption({ metadata, spec, status }: Sandbox): boolean {
  const isAdopted = metadata.labels?.[labels.launchType] === launchTypes.warm;
  const isUnpublished = status?.observedGeneration !== metadata.generation;
  const isOutstanding = isUnpublished && isReadyNow(status) && resolveMode(spec) === 'Running';
  return isAdopted && isOutstanding && !isAwaited({ metadata });
}

/** The claim waits until the Pod has its image and CPU, and has left the network rules of its template. */
function isAwaited({ metadata }: Pick<Sandbox, 'metadata'>): boolean {
  const { [annotations.inplaceImage]: image, [annotations.inplaceCpu]: cpu } = metadata.annotations ?? {};
  return image !== undefined || cpu !== undefined || metadata.labels?.[labels.network] !== undefined;
}
