import { findCondition, isRestorable, isUploaded } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { findMark } from './hibernations.ts';

/**
 * Whether `pod` waits for the one node that had the data when it was built, although the bucket has the data by now: that node
 * may be full, cordoned or gone. The cache has no affinities, so the times tell; within one second they may replace one too many.
 */
export function isPinned({ hibernations }: Snapshot, pod: Pod): boolean {
  const from = hibernations.find(({ metadata }) => metadata.uid === findMark(pod));
  if (from === undefined || !isUploaded(from) || !isRestorable(from) || !isRefused(pod)) return false;
  const { creationTimestamp = '' } = pod.metadata;
  return creationTimestamp <= (from.status?.remote?.at ?? '');
}

/** Whether no node takes the Pod. */
function isRefused(pod: Pod): boolean {
  if (pod.spec.nodeName !== undefined || isTerminating(pod)) return false;
  return findCondition(pod.status?.conditions, 'PodScheduled')?.status === 'False';
}
