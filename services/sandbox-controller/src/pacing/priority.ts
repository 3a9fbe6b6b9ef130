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
  const { [annotations.inplaceImage]: image, [annotations.inplaceCpu]: cpu } = metadata.annotations ?? {};
  const needsChange = image !== undefined || cpu !== undefined;
  // The claim waits until the Pod has left the network rules of its template.
  const hasOwnNetwork = metadata.labels?.[labels.network] !== undefined;
  const isUnpublished = status?.observedGeneration !== metadata.generation;
  return (
    isAdopted &&
    isUnpublished &&
    !needsChange &&
    !hasOwnNetwork &&
    isReadyNow(status) &&
    resolveMode(spec) === 'Running'
  );
}
