import { eventReasons } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { isExpiredMemory } from '../hibernate/hibernations.ts';
import { buildExpiredNote } from '../hibernate/notes.ts';
import { findUnseenAtMs, formatUnseen } from '../hibernate/unseen.ts';
import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { formatWarning } from '../plan/steps.ts';
import type { Trouble } from '../plan/steps.ts';

/** Memory that expires while its Sandbox sleeps, and saves and starts about which no snapshot-controller says anything. */
export function listHibernationTroubles(snapshot: Snapshot): Trouble[] {
  return [...listExpired(snapshot), ...snapshot.hibernations.flatMap(listUnseen)];
}

/** A suspension and a start wait for it without end, unless the Sandbox may boot. */
function listUnseen(object: SandboxSnapshot): Trouble[] {
  const dueMs = findUnseenAtMs(object);
  if (dueMs === undefined) return [];
  const note = formatWarning(eventReasons.snapshotControllerAway, `Sandbox waits: ${formatUnseen(object)}`);
  return [{ key: `unseen ${object.metadata.uid ?? ''}`, dueMs, note }];
}

/** A memory that is deleted because its time is over, while no Pod has gone on from it. */
function listExpired(snapshot: Snapshot): Trouble[] {
  if (findOnlyPod(snapshot) !== undefined) return [];
  return snapshot.hibernations
    .filter((each) => isExpiredMemory(each, snapshot.nowMs))
    .map((each) => buildTrouble(each));
}

function buildTrouble({ metadata: { name = '', uid = '' } }: SandboxSnapshot): Trouble {
  return { key: `expired ${uid}`, isPast: true, note: buildExpiredNote(name) };
}
