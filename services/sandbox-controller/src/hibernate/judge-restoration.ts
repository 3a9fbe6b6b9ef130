import { findCondition, isSpent, leavesFiles } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isCopy, isWanted } from '../start-memory/start-record.ts';
import { findMark, getPatienceEndMs, getProblem } from './hibernations.ts';

/**
 * How far a Pod came that was built to be restored. `none`: it is an ordinary Pod, has been restored before, or ended by
 * itself. `waiting` may have an end, epoch milliseconds. `failed`: this Pod can never be restored, so it is useless. `anew`: it
 * has started without its memory, as far as anyone says.
 */
export type Restoration =
  | { readonly kind: 'none' }
  | { readonly kind: 'waiting'; readonly untilMs?: number }
  | { readonly kind: 'restored' | 'anew'; readonly from: SandboxSnapshot }
  | { readonly kind: 'failed'; readonly why: string; readonly from?: SandboxSnapshot };

/** Why memory that was to be restored is lost, when the Pod runs and no node confirms that it goes on from it. */
export const STARTED_ANEW =
  'its Pod runs, and no node says that it was restored. Check that containerd passes pod_annotations sandlot.dev/restore-snapshot to the shim';

const NONE: Restoration = { kind: 'none' };

/** How far `pod` came; its outcome is what the snapshot-controller says and what the kubelet shows. */
export function judgeRestoration(snapshot: Snapshot, pod: Pod): Restoration {
  const mark = findMark(pod);
  if (mark === undefined || isTerminating(pod)) return NONE;
  const from = snapshot.hibernations.find(({ metadata }) => metadata.uid === mark);
  if (from === undefined) return judgeWithoutSnapshot(snapshot, pod);
  const restore = from.status?.restore;
  if (restore === undefined || restore.podUID !== pod.metadata.uid) return judgeUnannounced(snapshot, pod, from);
  if (restore.state === 'Failed') return { kind: 'failed', why: restore.message ?? 'the node does not say why', from };
  return restore.state === 'Restored' ? judgeRestored(pod, from) : judgeUnannounced(snapshot, pod, from);
}

function judgeRestored(pod: Pod, from: SandboxSnapshot): Restoration {
  if (pod.status?.phase !== 'Running' && !hasEnded(pod)) return { kind: 'waiting' };
  return isTerminating(from) ? NONE : { kind: 'restored', from };
}

/**
 * The hibernation goes once its Pod runs, and the shim of gVisor restores a Pod only once. So a Pod that has not started, or
 * whose sandbox the node lost, for example because it was restarted, never starts again.
 */
function judgeWithoutSnapshot(snapshot: Snapshot, pod: Pod): Restoration {
  if (!snapshot.settings.snapshotsEnabled || hasEnded(pod)) return NONE;
  if (pod.status?.phase !== 'Running') return { kind: 'failed', why: 'its SandboxSnapshot is gone' };
  const started = findCondition(pod.status.conditions, 'PodReadyToStartContainers');
  if (started?.status !== 'False') return NONE;
  return { kind: 'failed', why: 'its node lost the restored sandbox, and memory is restored only once' };
}

function judgeUnannounced(snapshot: Snapshot, pod: Pod, from: SandboxSnapshot): Restoration {
  if (hasEnded(pod)) return NONE;
  return pod.status?.phase === 'Running' ? judgeStarted(snapshot, pod, from) : judgePending(snapshot, pod, from);
}

function judgePending(snapshot: Snapshot, pod: Pod, from: SandboxSnapshot): Restoration {
  if (isSpent(from, pod.metadata.uid) && !leavesFiles(from)) return judgeSpent(snapshot, from);
  if (isTerminating(from)) return { kind: 'failed', why: 'its SandboxSnapshot is being deleted', from };
  if (from.status?.phase !== 'Ready') return { kind: 'failed', why: getProblem(from), from };
  const isUnwanted = !isWanted(snapshot.sandbox, from) && pod.spec.nodeName === undefined;
  return isUnwanted
    ? { kind: 'failed', why: isCopy(from) ? STARTED_BEFORE : NOT_HIBERNATING, from }
    : { kind: 'waiting' };
}

const NOT_HIBERNATING = 'suspensionStrategy of the Sandbox no longer is Hibernate';
const STARTED_BEFORE = 'the Sandbox has started before';

/** A Pod that is Ready is not restored any more: a shim that does not know the mark starts it anew. */
function judgeStarted({ nowMs }: Snapshot, { status }: Pod, from: SandboxSnapshot): Restoration {
  if (isTerminating(from)) return NONE;
  const ready = findCondition(status?.conditions, 'Ready');
  const at = ready?.lastTransitionTime ?? '';
  // The API server writes null for a time that is unset.
  if (ready?.status !== 'True' || at === '') return { kind: 'waiting' };
  const untilMs = getPatienceEndMs({ at });
  return untilMs > nowMs ? { kind: 'waiting', untilMs } : { kind: 'anew', from };
}

/** Another Pod had the hibernation. If that one went away before it began, the snapshot-controller withdraws it soon. */
function judgeSpent({ nowMs }: Snapshot, from: SandboxSnapshot): Restoration {
  const { restore } = from.status ?? {};
  const untilMs = restore?.state === 'Announced' ? getPatienceEndMs(restore) : 0;
  if (untilMs > nowMs) return { kind: 'waiting', untilMs };
  return { kind: 'failed', why: `Pod with the UID ${restore?.podUID ?? ''} has had it before`, from };
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}
