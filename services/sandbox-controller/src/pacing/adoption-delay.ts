import { isPoolMember, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Change } from '@sandlot/kube';
import { isReadyNow } from '../status/status.ts';

/** Within the second in which the Pod has to follow its Sandbox (API contract, commit protocol, invariant f). */
const ADOPTION_DELAY_MS = 800;

/**
 * How long a change of a Sandbox can wait before it is looked at, milliseconds. Nobody waits for what follows the adoption
 * of one that is Ready: the claim shows it at once, and labels of the Pod may come later. In a burst of claims those
 * writes would take the server from the claims that are still to be served.
 */
export function delayOf({ old, next }: Pick<Change<Sandbox>, 'old' | 'next'>): number {
  if (old === undefined || next === undefined || next.metadata.deletionTimestamp !== undefined) return 0;
  const wasAdopted = isPoolMember(old) && !isPoolMember(next);
  return wasAdopted && !isAwaited(old, next) && isReadyNow(next.status) ? ADOPTION_DELAY_MS : 0;
}

/** Whether its claim waits for what the adoption changes in the Pod: another image, or network rules of its own. */
function isAwaited(old: Sandbox, next: Sandbox): boolean {
  const imageOf = ({ spec }: Sandbox): string | undefined => spec.podTemplate.spec.containers[0]?.image;
  return imageOf(old) !== imageOf(next) || next.metadata.labels?.[labels.network] !== undefined;
}
