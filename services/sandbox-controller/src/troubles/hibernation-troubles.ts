import { eventReasons, isRestorable } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { findOnlyPod, isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { formatWarning } from '../plan/steps.ts';
import type { Trouble } from '../plan/steps.ts';
import { isCopy } from '../start-memory/start-record.ts';

/** A memory that is deleted because its time is over, while no Pod has gone on from it. */
export function listHibernationTroubles(snapshot: Snapshot): Trouble[] {
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
