import { findCondition, needsHibernation, resolveMode } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { findOnlyPod, hasFailed, isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isStartRefused, readStart } from '../start-memory/start-record.ts';
import { findSaveOf, getPatienceEndMs, getProblem, isSaved } from './hibernations.ts';
import { judgeRestoration } from './judge-restoration.ts';
import { findSaveRefusal } from './refusals.ts';

/**
 * What a suspension waits for before it deletes the Pod. `stop`: for nothing, because there is no memory to keep. `lost`: the
 * Pod ended while it was being saved.
 */
export type Save =
  | { readonly kind: 'stop' | 'create' | 'saved' }
  | { readonly kind: 'wait'; readonly untilMs?: number }
  | { readonly kind: 'failed' | 'lost'; readonly why: string };

/** What to do about the memory of `pod`, which is not terminating, while its Sandbox is suspended. */
export function judgeSave(snapshot: Snapshot, pod: Pod): Save {
  const { sandbox } = snapshot;
  if (readStart(sandbox).kind === 'chosen') return judgeStarting(snapshot, pod);
  if (!needsHibernation(sandbox.spec) || isStartRefused(sandbox)) return { kind: 'stop' };
  const save = findSaveOf(snapshot, pod);
  if (isSaved(save, pod)) return { kind: 'saved' };
  const untilMs = findRestoreEndMs(snapshot, pod);
  if (untilMs !== undefined) return { kind: 'wait', untilMs };
  if (pod.status?.phase !== 'Running') {
    return save === undefined ? { kind: 'stop' } : { kind: 'lost', why: 'its Pod ended before it was saved' };
  }
  return judgeRunning(snapshot, pod, save);
}

/** A start is awaited by any strategy. What may not have started from its snapshot is not saved in place of that. */
function judgeStarting(snapshot: Snapshot, pod: Pod): Save {
  const untilMs = findRestoreEndMs(snapshot, pod);
  return untilMs === undefined ? { kind: 'stop' } : { kind: 'wait', untilMs };
}

function judgeRunning(snapshot: Snapshot, pod: Pod, save: SandboxSnapshot | undefined): Save {
  const refusal = findSaveRefusal(snapshot, pod);
  if (refusal !== undefined) return { kind: 'failed', why: refusal };
  if (save === undefined) return hasFailed(snapshot, 'hibernation') ? { kind: 'wait' } : { kind: 'create' };
  if (save.status?.phase === 'Failed' && !isTerminating(save)) return { kind: 'failed', why: getProblem(save) };
  return { kind: 'wait' };
}

/** Whether a Pod whose memory cannot be saved stays. */
export function isKept({ sandbox: { spec } }: Snapshot, { kind }: Save): boolean {
  return kind === 'failed' && spec.suspensionStrategy?.hibernate?.onFailure === 'KeepRunning';
}

/** When the controller no longer waits for the restore of a Pod, epoch milliseconds; undefined: it does not, or without end. */
export function findSettledAtMs(snapshot: Snapshot): number | undefined {
  const pod = findOnlyPod(snapshot);
  if (pod === undefined || isTerminating(pod)) return undefined;
  const isSuspended = resolveMode(snapshot.sandbox.spec) === 'Suspended';
  const judged = isSuspended ? judgeSave(snapshot, pod) : judgeRestoration(snapshot, pod);
  return judged.kind === 'wait' || judged.kind === 'waiting' ? judged.untilMs : undefined;
}

/**
 * Until when a Pod on its node may be about to continue from its hibernation, epoch milliseconds: deleted at this moment it
 * could lose what it was restored with. Undefined: it is not being restored.
 */
function findRestoreEndMs(snapshot: Snapshot, pod: Pod): number | undefined {
  if (pod.spec.nodeName === undefined || judgeRestoration(snapshot, pod).kind !== 'waiting') return undefined;
  const scheduled = findCondition(pod.status?.conditions, 'PodScheduled');
  const untilMs = getPatienceEndMs({ at: scheduled?.lastTransitionTime ?? pod.metadata.creationTimestamp ?? '' });
  return untilMs > snapshot.nowMs ? untilMs : undefined;
}
