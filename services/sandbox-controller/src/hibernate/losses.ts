import { isMemoryUnwanted } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { EventNote } from '../plan/steps.ts';
import { isCopy } from '../start-memory/start-record.ts';
import { findNext } from './choose-hibernation.ts';
import { getProblem, isExpiredMemory } from './hibernations.ts';
import { buildExpiredNote, buildFilesLeftNote, buildRestoreLossNote } from './notes.ts';
import { EDITED, findRestoreRefusal, isEdited } from './refusals.ts';

/** What a Sandbox has lost that slept with more than it has now; undefined: nothing, as far as it is known. */
export function findLossAsleep(snapshot: Snapshot): EventNote | undefined {
  const next = findNext(snapshot);
  if (next !== undefined) return findLossOfMemory(snapshot, next);
  const newest = snapshot.hibernations.find((each) => !isCopy(each));
  if (newest === undefined) return buildRestoreLossNote('its SandboxSnapshot is gone');
  if (isExpiredMemory(newest, snapshot.nowMs)) return buildExpiredNote(newest.metadata.name ?? '');
  if (isTerminating(newest)) return buildRestoreLossNote('its SandboxSnapshot is being deleted');
  if (newest.status?.phase !== 'Ready') return buildRestoreLossNote(getProblem(newest));
  const refusal = findRestoreRefusal(snapshot, newest);
  // Announced to a Pod that is gone, it may be withdrawn, and then is there again.
  return refusal === undefined ? undefined : buildRestoreLossNote(refusal);
}

/** The loss of the memory of a hibernation whose files are left; undefined: it has none, or a client wants none. */
export function findLossOfMemory({ sandbox }: Snapshot, from: SandboxSnapshot): EventNote | undefined {
  const hadMemory = from.spec.contents !== 'Files' && from.status?.fingerprint !== undefined;
  if (!hadMemory || isMemoryUnwanted(from, sandbox)) return undefined;
  return buildFilesLeftNote(from, isEdited(sandbox, from) ? EDITED : 'it could not be restored');
}
