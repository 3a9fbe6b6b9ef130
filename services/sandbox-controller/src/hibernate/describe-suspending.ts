import { needsHibernation, sandboxMessages as messages, sandboxReasons as reasons } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isKept, judgeSave } from './judge-save.ts';

/** Why a Sandbox that is to be suspended still has a Pod. */
export function describeSuspending(
  snapshot: Snapshot,
  pod: Pod,
): { readonly reason: string; readonly message: string } {
  const ending = { reason: reasons.podTerminating, message: messages.podTerminating };
  if (isTerminating(pod)) return ending;
  const save = judgeSave(snapshot, pod);
  if ((save.kind === 'wait' || save.kind === 'create') && needsHibernation(snapshot.sandbox.spec)) {
    return { reason: reasons.hibernating, message: messages.hibernating };
  }
  if (save.kind !== 'failed' || !isKept(snapshot, save)) return ending;
  return { reason: reasons.hibernationFailed, message: messages.hibernationFailed(save.why) };
}
