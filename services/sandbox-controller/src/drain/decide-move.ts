import { annotations, labels, memoryStates } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { buildHibernation } from '../hibernate/build-hibernation.ts';
import { findSaveOf } from '../hibernate/hibernations.ts';
import { findOnlyPod, hasFailed } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';
import { judgeMove } from './judge-move.ts';
import { buildMovedNote, buildUnsavedNote } from './notes.ts';

/**
 * Saves the Pod of a node that is being emptied, and deletes it once that is done: docs/reference/sandbox.md#drain. The
 * Sandbox goes on from there as after a wake. What cannot be saved no longer holds the node up.
 */
export function decideMove(snapshot: Snapshot): Plan {
  const pod = findOnlyPod(snapshot);
  if (pod === undefined || hasFailed(snapshot, 'pod')) return [];
  const move = judgeMove(snapshot, pod);
  switch (move.kind) {
    case 'create': {
      const hibernation = buildHibernation(snapshot.sandbox, pod);
      return [{ kind: 'createHibernation', phase: 'hibernation', hibernation, pod }];
    }
    case 'leave':
      return [
        { kind: 'deletePod', phase: 'pod', pod, isFrozen: true },
        { kind: 'recordEvent', note: buildMovedNote(pod, findSaveOf(snapshot, pod)) },
        { kind: 'countMove', result: 'moved' },
      ];
    case 'giveUp':
      return giveUp(pod, move.why);
    default:
      return [];
  }
}

/** The label remembers it until the node takes Pods again. The reason is for the status, if the Pod is evicted. */
function giveUp(pod: Pod, why: string): Plan {
  const noted = {
    labels: { [labels.memory]: memoryStates.unsaved },
    annotations: { [annotations.saveProblem]: why },
  };
  const patch = { metadata: { uid: pod.metadata.uid, ...noted } };
  return [
    { kind: 'patchPod', phase: 'pod', pod, patch },
    { kind: 'recordEvent', note: buildUnsavedNote(pod, why) },
    { kind: 'countMove', result: 'unsaved' },
  ];
}
