import { diskTroubles } from './disk-troubles.ts';
import { podTroubles } from './pod-troubles.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Trouble } from '../plan/steps.ts';

/** Everything that is wrong with the Sandbox and that its conditions do not show. */
const troublesOf = (snapshot: Snapshot): Trouble[] => [...diskTroubles(snapshot), ...podTroubles(snapshot)];

/**
 * Reports troubles that have no Event yet. They are not in the status: a kubelet that alternates between reasons must not
 * cost a status write each time.
 */
export function decideTroubles(snapshot: Snapshot): Plan {
  return troublesOf(snapshot)
    .filter((trouble) => nextMs(snapshot, trouble) <= snapshot.nowMs)
    .map((trouble) => ({ kind: 'reportTrouble', trouble }));
}

/** When the next trouble is due, or due again, epoch milliseconds; undefined: never. */
export function troubleRequeueAtMs(snapshot: Snapshot): number | undefined {
  const times = troublesOf(snapshot)
    .filter(({ key, isPast = false }) => !(isPast && snapshot.reportedTroubles.has(key)))
    .map((trouble) => nextMs(snapshot, trouble));
  return times.length === 0 ? undefined : Math.min(...times);
}

function nextMs({ reportedTroubles }: Snapshot, { key, dueMs = 0, isPast = false }: Trouble): number {
  const untilMs = reportedTroubles.get(key);
  return isPast && untilMs !== undefined ? Infinity : Math.max(dueMs, untilMs ?? 0);
}
