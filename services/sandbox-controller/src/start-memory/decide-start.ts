import { resolveMode, START_DONE } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { findOnlyPod, hasFailed } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';
import { buildCopy } from './build-copy.ts';
import { findLostRecord, judgeBesidePod, judgeOpen, judgeWithoutPod } from './judge-start.ts';
import type { Verdict } from './judge-start.ts';
import { buildBootNote } from './start-notes.ts';
import { formatFailure, isCopy, isStrict, readStart, recordStart } from './start-record.ts';

/**
 * Has a Sandbox with `restoreFrom` start once, from a copy of its own: docs/reference/sandbox.md#start-from-a-snapshot. Each
 * outcome is recorded before anything follows from it, so that no later pass copies, restores or boots a second time. What
 * follows is left to the stages after this one.
 */
export function decideStart(snapshot: Snapshot): Plan {
  const { sandbox, ownedPods } = snapshot;
  const start = readStart(sandbox);
  if (ownedPods.length > 1) return [];
  const pod = findOnlyPod(snapshot);
  if (start.kind === 'open') return decideOpen(snapshot, pod);
  if (start.kind !== 'chosen') return [];
  if (pod !== undefined) return follow(snapshot, judgeBesidePod(snapshot, pod));
  return isStarting(snapshot) && !snapshot.needsMemoryLook
    ? follow(snapshot, judgeWithoutPod(snapshot, start.uid))
    : [];
}

function decideOpen(snapshot: Snapshot, pod: Pod | undefined): Plan {
  const { sandbox, hibernations } = snapshot;
  if (pod !== undefined) return [recordStart(sandbox, findLostRecord(pod))];
  // It was saved, so it has run.
  if (hibernations.some((each) => !isCopy(each))) return [recordStart(sandbox, START_DONE)];
  return isStarting(snapshot) ? follow(snapshot, judgeOpen(snapshot)) : [];
}

/** Without a Pod. One that has its name is for the stage of the Pod. */
function isStarting({ sandbox, foreignPod }: Snapshot): boolean {
  return resolveMode(sandbox.spec) === 'Running' && foreignPod === undefined;
}

function follow(snapshot: Snapshot, verdict: Verdict): Plan {
  const { sandbox } = snapshot;
  switch (verdict.kind) {
    case 'wait':
      return [];
    case 'copy':
      return decideCopy(snapshot);
    case 'choose':
      return [recordStart(sandbox, verdict.uid)];
    case 'done':
      return [recordStart(sandbox, START_DONE)];
    default:
      return giveUp(snapshot, verdict.why);
  }
}

function decideCopy(snapshot: Snapshot): Plan {
  const { sandbox } = snapshot;
  const { restoreFrom } = sandbox.spec;
  if (restoreFrom === undefined || hasFailed(snapshot, 'hibernation')) return [];
  return [
    { kind: 'createHibernation', phase: 'hibernation', hibernation: buildCopy(sandbox, restoreFrom.snapshotName) },
  ];
}

/** With a Pod the stage of hibernations reports what was lost, and without a boot the condition Ready does. */
function giveUp(snapshot: Snapshot, why: string): Plan {
  const { sandbox } = snapshot;
  const record = recordStart(sandbox, formatFailure(why));
  if (isStrict(sandbox) || findOnlyPod(snapshot) !== undefined) return [record];
  const note: Step = { kind: 'recordEvent', note: buildBootNote(sandbox, why) };
  return [record, note];
}
