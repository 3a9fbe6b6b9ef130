import { isPoolMember, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Change } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { isReadyNow } from '../status/status.ts';

/**
 * How many milliseconds the pass for a change of a Sandbox can wait. After the adoption of a Ready Sandbox nothing is
 * urgent: the claim shows Ready at once, and the labels of the Pod may follow. In a burst these writes would slow the
 * claims that are still to be served. The Pod must follow its Sandbox within a second
 * (docs/reference/sandbox-claim.md#adoption).
 */
export function getDelay({ old, next }: Pick<Change<Sandbox>, 'old' | 'next'>): number {
  if (old === undefined || next === undefined || next.metadata.deletionTimestamp !== undefined) return 0;
  const wasAdopted = isPoolMember(old) && !isPoolMember(next);
  return wasAdopted && !isAwaited(old, next) && isReadyNow(next.status) ? pacing.adoptionDelay.delayMs : 0;
}

/** Whether the claim waits for a change of the Pod: another image, or network rules of its own. */
function isAwaited(old: Sandbox, next: Sandbox): boolean {
  const findImage = ({ spec }: Sandbox): string | undefined => spec.podTemplate.spec.containers[0]?.image;
  return findImage(old) !== findImage(next) || next.metadata.labels?.[labels.network] !== undefined;
}
