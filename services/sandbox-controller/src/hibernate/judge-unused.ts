import { needsHibernation, resolveMode } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Snapshot } from '../plan/snapshot.ts';
import type { EventNote } from '../plan/steps.ts';
import { isCopy, isSpare } from '../start-memory/start-record.ts';
import { findAwaited, findNext } from './choose-hibernation.ts';
import { getProblem, isDataLost, listRestorable } from './hibernations.ts';
import { buildRestoreLossNote, buildSaveLossNote } from './notes.ts';
import { findRestoreRefusal } from './refusals.ts';

/** What becomes of a hibernation whose Sandbox has no Pod. `note` tells the owner what was lost. */
export type Fate = { readonly kind: 'keep' } | { readonly kind: 'drop'; readonly note?: EventNote };

type Restore = NonNullable<SandboxSnapshotStatus['restore']>;

const KEEP: Fate = { kind: 'keep' };
const DROP: Fate = { kind: 'drop' };

/** Dropped is what no later Pod may continue from. */
export function judgeUnused(snapshot: Snapshot, hibernation: SandboxSnapshot): Fate {
  if (isCopy(hibernation)) return isSpare(snapshot.sandbox, hibernation) ? DROP : KEEP;
  if (!needsHibernation(snapshot.sandbox.spec)) return DROP;
  if (hibernation === findNext(snapshot) || hibernation === findAwaited(snapshot)) return KEEP;
  const { restore } = hibernation.status ?? {};
  if (restore !== undefined && restore.state !== 'Withdrawn') return judgeAnnounced(snapshot, restore);
  return judgeUnannounced(snapshot, hibernation);
}

/** While the Sandbox is suspended, nothing waits for the outcome. */
function judgeAnnounced(snapshot: Snapshot, { state, message, podName }: Restore): Fate {
  if (state === 'Restored') return DROP;
  if (state === 'Failed') return { kind: 'drop', note: buildRestoreLossNote(message ?? 'the node does not say why') };
  if (!isRunning(snapshot)) return KEEP;
  return { kind: 'drop', note: buildRestoreLossNote(`Pod "${podName}", which was about to be restored, is gone`) };
}

/** While the Sandbox is suspended, a save may still be completed. */
function judgeUnannounced(snapshot: Snapshot, hibernation: SandboxSnapshot): Fate {
  const phase = hibernation.status?.phase;
  if (phase === 'Ready') return judgeComplete(snapshot, hibernation);
  if (!isRunning(snapshot)) return KEEP;
  if (phase !== 'Failed') return { kind: 'drop', note: buildSaveLossNote('its Pod ended before it was saved') };
  return isDataLost(hibernation) ? { kind: 'drop', note: buildRestoreLossNote(getProblem(hibernation)) } : KEEP;
}

function judgeComplete(snapshot: Snapshot, hibernation: SandboxSnapshot): Fate {
  if (hibernation !== listRestorable(snapshot)[0]) return DROP;
  if (!isRunning(snapshot)) return KEEP;
  const refusal = findRestoreRefusal(snapshot, hibernation);
  return refusal === undefined ? KEEP : { kind: 'drop', note: buildRestoreLossNote(refusal) };
}

const isRunning = ({ sandbox }: Snapshot): boolean => resolveMode(sandbox.spec) === 'Running';
