import { START_DONE } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { findAwaited, findNext } from '../hibernate/choose-hibernation.ts';
import { findMark, getProblem } from '../hibernate/hibernations.ts';
import { judgeRestoration, STARTED_ANEW } from '../hibernate/judge-restoration.ts';
import { findCopyRefusal, findCopyRejection, findRestoreRefusal } from '../hibernate/refusals.ts';
import { formatUnseen, isUnseen } from '../hibernate/unseen.ts';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { findCopy, isStrict } from './start-record.ts';

/** What follows for a start. `copy`: the copy has to be made. `choose`: it is ready to be restored. */
export type Verdict =
  | { readonly kind: 'wait' | 'copy' | 'done' }
  | { readonly kind: 'choose'; readonly uid: string }
  | { readonly kind: 'failed'; readonly why: string };

const WAIT: Verdict = { kind: 'wait' };

/** About a Sandbox that runs and has neither a record nor a Pod. */
export function judgeOpen(snapshot: Snapshot): Verdict {
  const refusal = findCopyRefusal(snapshot);
  if (refusal !== undefined) return { kind: 'failed', why: refusal };
  const copy = findCopy(snapshot.sandbox, snapshot.hibernations);
  if (copy === undefined) return judgeUncopied(snapshot);
  if (isTerminating(copy)) return WAIT;
  if (copy.status?.phase === 'Failed') return { kind: 'failed', why: getProblem(copy) };
  return copy.status?.phase === 'Ready' ? judgeReady(snapshot, copy) : judgeUnmade(snapshot, copy);
}

/** A Sandbox that may boot does not wait for a snapshot-controller that is away. */
function judgeUnmade({ sandbox, nowMs }: Snapshot, copy: SandboxSnapshot): Verdict {
  return isUnseen(copy, nowMs) && !isStrict(sandbox) ? { kind: 'failed', why: formatUnseen(copy) } : WAIT;
}

/** Where the API server rejects the copy, a Sandbox that may boot does so; any other one asks again. */
function judgeUncopied(snapshot: Snapshot): Verdict {
  const rejection = findCopyRejection(snapshot);
  return rejection === undefined ? { kind: 'copy' } : { kind: 'failed', why: rejection };
}

function judgeReady(snapshot: Snapshot, copy: SandboxSnapshot): Verdict {
  const why = findRestoreRefusal(snapshot, copy);
  return why === undefined ? { kind: 'choose', uid: copy.metadata.uid ?? '' } : { kind: 'failed', why };
}

/** About a Sandbox that runs, whose copy was chosen, and that has no Pod. The snapshot must be certain. */
export function judgeWithoutPod(snapshot: Snapshot, uid: string): Verdict {
  const copy = snapshot.hibernations.find(({ metadata }) => metadata.uid === uid);
  if (copy === undefined)
    return { kind: 'failed', why: findCopyRefusal(snapshot) ?? 'its copy of the snapshot is gone' };
  if (copy === findNext(snapshot) || copy === findAwaited(snapshot)) return WAIT;
  return { kind: 'failed', why: explain(snapshot, copy) };
}

function explain(snapshot: Snapshot, copy: SandboxSnapshot): string {
  const { phase, restore } = copy.status ?? {};
  if (isTerminating(copy)) return 'its copy of the snapshot is being deleted';
  if (phase !== 'Ready') return getProblem(copy);
  if (restore === undefined || restore.state === 'Withdrawn') {
    return findRestoreRefusal(snapshot, copy) ?? 'its copy of the snapshot is not usable';
  }
  if (restore.state === 'Failed') return restore.message ?? 'the node does not say why';
  const when = restore.state === 'Restored' ? 'was just restored' : 'was about to be restored';
  return `Pod "${restore.podName}", which ${when}, is gone`;
}

/** About a Sandbox whose copy was chosen and that has a Pod. */
export function judgeBesidePod(snapshot: Snapshot, pod: Pod): Verdict {
  const outcome = judgeRestoration(snapshot, pod);
  if (outcome.kind === 'restored') return { kind: 'done' };
  if (outcome.kind === 'failed') return { kind: 'failed', why: outcome.why };
  if (outcome.kind === 'anew') return { kind: 'failed', why: STARTED_ANEW };
  return outcome.kind === 'none' && hasStarted(snapshot, pod) ? { kind: 'done' } : WAIT;
}

/** A Pod with the mark runs only if it was restored. Its copy may have been deleted by a user since. */
function hasStarted({ hibernations }: Snapshot, pod: Pod): boolean {
  const mark = findMark(pod);
  if (mark === undefined || isTerminating(pod) || pod.status?.phase !== 'Running') return false;
  const from = hibernations.find(({ metadata }) => metadata.uid === mark);
  const restore = from?.status?.restore;
  return from === undefined || (restore?.state === 'Restored' && restore.podUID === pod.metadata.uid);
}

/** The record that a Sandbox needs which has a Pod and none: somebody removed it. */
export function findLostRecord(pod: Pod): string {
  return findMark(pod) ?? START_DONE;
}
