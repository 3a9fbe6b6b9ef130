import { listDiskTroubles } from './disk-troubles.ts';
import { listHibernationTroubles } from './hibernation-troubles.ts';
import { listPodTroubles } from './pod-troubles.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Trouble } from '../plan/steps.ts';

/** Everything that is wrong with the Sandbox and that its conditions do not show. */
const listTroubles = (snapshot: Snapshot): Trouble[] => [
  ...listDiskTroubles(snapshot),
  ...listHibernationTroubles(snapshot),
  ...listPodTroubles(snapshot),
];

/**
 * Reports troubles that have no Event yet. They are not in the status: a kubelet that alternates between reasons must not
 * cost a status write each time.
 */
export function decideTroubles(snapshot: Snapshot): Plan {
  return listTroubles(snapshot)
    .filter((trouble) => findNextMs(snapshot, trouble) <= snapshot.nowMs)
    .map((trouble) => ({ kind: 'reportTrouble', trouble }));
}

/** When the next trouble is due, or due again, epoch milliseconds; undefined: never. */
export function findTroubleRequeueAtMs(snapshot: Snapshot): number | undefined {
  const times = listTroubles(snapshot)
    .filter(({ key, isPast = false }) => !(isPast && snapshot.reportedTroubles.has(key)))
    .map((trouble) => findNextMs(snapshot, trouble));
  return times.length === 0 ? undefined : Math.min(...times);
}

function findNextMs({ reportedTroubles }: Snapshot, { key, dueMs = 0, isPast = false }: Trouble): number {
  const untilMs = reportedTroubles.get(key);
  return isPast && untilMs !== undefined ? Infinity : Math.max(dueMs, untilMs ?? 0);
}
