import { leavesFiles, needsHibernation, resolveMode } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { isBeingMoved } from '../drain/judge-move.ts';
import { findOnlyPod, hasFailed, isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { EventNote, Plan, Step } from '../plan/steps.ts';
import { isCopy, isSpare, isStartRefused } from '../start-memory/start-record.ts';
import { findMark, findSaveOf, isSaved } from './hibernations.ts';
import { isPinned } from './judge-place.ts';
import { judgeRestoration, STARTED_ANEW } from './judge-restoration.ts';
import type { Restoration } from './judge-restoration.ts';
import { judgeUnused } from './judge-unused.ts';
import { buildFilesLeftNote, buildRestoredNote, buildRestoreLossNote } from './notes.ts';

/**
 * Ends restores, and drops every hibernation that no Pod may continue from any more: docs/reference/sandbox.md#hibernation.
 * It comes before the Pod, so a Pod that begins anew never has an older memory beside it.
 */
export function decideHibernations(snapshot: Snapshot): Plan {
  const { hibernations, ownedPods } = snapshot;
  const pod = findOnlyPod(snapshot);
  if (hibernations.length === 0 && (pod === undefined || findMark(pod) === undefined)) return [];
  if (ownedPods.length > 1 || hasFailed(snapshot, 'hibernation') || hasFailed(snapshot, 'pod')) return [];
  return pod === undefined ? decideWithoutPod(snapshot) : decideBesidePod(snapshot, pod);
}

/** At the end of a Sandbox. */
export function decideHibernationDeletion({ hibernations }: Snapshot): Step[] {
  return hibernations.filter((each) => !isTerminating(each)).map((each) => deleteHibernation(each, 'expiry'));
}

function deleteHibernation(hibernation: SandboxSnapshot, phase: 'hibernation' | 'expiry' = 'hibernation'): Step {
  return { kind: 'deleteHibernation', phase, hibernation };
}

function recordLoss(note: EventNote | undefined): Step[] {
  return note === undefined ? [] : [{ kind: 'recordEvent', note, isLoss: true }];
}

function decideBesidePod(snapshot: Snapshot, pod: Pod): Plan {
  const settled = decideOutcome(snapshot, pod);
  if (settled.length > 0) return settled;
  if (isPinned(snapshot, pod)) return [{ kind: 'deletePod', phase: 'pod', pod }];
  if (isWokenWhenSaved(snapshot, pod)) return [{ kind: 'deletePod', phase: 'pod', pod, isFrozen: true }];
  const { hibernations } = snapshot;
  return hibernations.filter((each) => isObsolete(snapshot, pod, each)).map((each) => deleteHibernation(each));
}

/** The Pod goes first: after a crash in between, the hibernation still shows why the Pod was useless. */
function decideOutcome(snapshot: Snapshot, pod: Pod): Plan {
  // The status says why such a Sandbox has no Pod. The stage of the Pod deletes the one that it has.
  if (isStartRefused(snapshot.sandbox)) return [];
  const outcome = judgeRestoration(snapshot, pod);
  if (outcome.kind === 'restored') {
    return [deleteHibernation(outcome.from), { kind: 'recordEvent', note: buildRestoredNote(outcome.from) }];
  }
  if (outcome.kind === 'anew') {
    return [deleteHibernation(outcome.from), ...recordLoss(buildRestoreLossNote(STARTED_ANEW))];
  }
  return outcome.kind === 'failed' ? replacePod(snapshot, pod, outcome) : [];
}

type Failed = Extract<Restoration, { readonly kind: 'failed' }>;

/** What the next Pod can boot with stays. */
function replacePod({ sandbox }: Snapshot, pod: Pod, { from, why }: Failed): Plan {
  const replaced: Step = { kind: 'deletePod', phase: 'pod', pod };
  if (from === undefined || isTerminating(from)) return [replaced, ...recordLoss(buildRestoreLossNote(why))];
  const isLeft = leavesFiles(from) && needsHibernation(sandbox.spec);
  if (isLeft) return [replaced, ...recordLoss(buildFilesLeftNote(from, why))];
  return [replaced, deleteHibernation(from), ...recordLoss(buildRestoreLossNote(why))];
}

/** A saved Pod stands still for ever. Its successor goes on where it stopped. */
function isWokenWhenSaved(snapshot: Snapshot, pod: Pod): boolean {
  if (resolveMode(snapshot.sandbox.spec) === 'Suspended' || isTerminating(pod)) return false;
  if (isBeingMoved(snapshot, pod)) return false;
  return isSaved(findSaveOf(snapshot, pod), pod);
}

/** Whether `hibernation` has no use beside `pod`. That of a Pod that stands still goes after the Pod. */
function isObsolete(snapshot: Snapshot, pod: Pod, hibernation: SandboxSnapshot): boolean {
  if (isTerminating(hibernation)) return false;
  if (isCopy(hibernation)) return isSpare(snapshot.sandbox, hibernation);
  if (hibernation.metadata.uid === findMark(pod)) return false;
  if (hibernation === findSaveOf(snapshot, pod)) return isSaveUnwanted(snapshot, pod, hibernation);
  if (!needsHibernation(snapshot.sandbox.spec)) return true;
  // Both times are the API server's. A younger one is of a Pod that the cache does not show yet.
  const isOlder = (hibernation.metadata.creationTimestamp ?? '') <= (pod.metadata.creationTimestamp ?? '');
  return isOlder && hibernation.status?.phase !== 'Failed';
}

/** A save that failed is dropped too once the Sandbox runs: the next suspension tries again. */
function isSaveUnwanted(snapshot: Snapshot, pod: Pod, save: SandboxSnapshot): boolean {
  const { sandbox } = snapshot;
  const { spec } = sandbox;
  if (!needsHibernation(spec)) return isTerminating(pod) || !isSaved(save, pod);
  if (isTerminating(pod) || isSaved(save, pod)) return false;
  if (resolveMode(spec) === 'Running') return !isBeingMoved(snapshot, pod);
  return save.status?.phase === 'Failed' && !isSeen(sandbox);
}

/** A wake and another suspension may come at once. A failure from before, as that the Sandbox was awake, does not count then. */
function isSeen({ metadata, status }: Sandbox): boolean {
  return status?.observedGeneration === metadata.generation;
}

function decideWithoutPod(snapshot: Snapshot): Plan {
  return snapshot.hibernations.flatMap((hibernation): Step[] => {
    const fate = judgeUnused(snapshot, hibernation);
    if (isTerminating(hibernation) || fate.kind === 'keep') return [];
    return [deleteHibernation(hibernation), ...recordLoss(fate.note)];
  });
}
