import { eventReasons, isRestorable } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { findUnseenAtMs, formatUnseen } from '../hibernate/unseen.ts';
import { findOnlyPod, isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { formatWarning } from '../plan/steps.ts';
import type { Trouble } from '../plan/steps.ts';
import { isCopy } from '../start-memory/start-record.ts';

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
  return snapshot.hibernations.filter((each) => isExpired(each, snapshot.nowMs)).map((each) => buildTrouble(each));
}

function isExpired(hibernation: SandboxSnapshot, nowMs: number): boolean {
  const { metadata, status } = hibernation;
  if (isCopy(hibernation) || !isTerminating(hibernation) || status?.expiresAt === undefined) return false;
  const kept = { ...hibernation, metadata: { ...metadata, deletionTimestamp: undefined } };
  return isRestorable(kept) && Date.parse(status.expiresAt) <= nowMs;
}

function buildTrouble({ metadata: { name = '', uid = '' } }: SandboxSnapshot): Trouble {
  const text = `Memory in SandboxSnapshot "${name}" has expired. The next start begins anew on the same volumes`;
  const advice = 'To keep it longer, raise retention.readySeconds of its SandboxSnapshotClass';
  return {
    key: `expired ${uid}`,
    isPast: true,
    note: formatWarning(eventReasons.hibernationExpired, `${text}. ${advice}`),
  };
}
