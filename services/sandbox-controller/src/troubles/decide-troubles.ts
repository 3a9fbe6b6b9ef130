import { diskTroubles } from './disk-troubles.ts';
import { podTroubles } from './pod-troubles.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Trouble } from '../plan/steps.ts';

/** Everything that keeps the Sandbox from being what it should be and that its conditions do not say. */
const troublesOf = (snapshot: Snapshot): Trouble[] => [...diskTroubles(snapshot), ...podTroubles(snapshot)];

/**
 * Tells of troubles that no Event tells of yet. Nothing of this is in the status: a kubelet that changes its mind about why
 * it waits must not cost a write.
 */
export function decideTroubles(snapshot: Snapshot): Plan {
  return troublesOf(snapshot)
    .filter((trouble) => nextMs(snapshot, trouble) <= snapshot.nowMs)
    .map((trouble) => ({ kind: 'tell', trouble }));
}

/** When a trouble becomes one, or has to be told again; undefined: there is none. Epoch milliseconds. */
export function troubleWakeMs(snapshot: Snapshot): number | undefined {
  const times = troublesOf(snapshot)
    .filter(({ key, isPast = false }) => !(isPast && snapshot.told.has(key)))
    .map((trouble) => nextMs(snapshot, trouble));
  return times.length === 0 ? undefined : Math.min(...times);
}

function nextMs({ told }: Snapshot, { key, dueMs = 0, isPast = false }: Trouble): number {
  const untilMs = told.get(key);
  return isPast && untilMs !== undefined ? Infinity : Math.max(dueMs, untilMs ?? 0);
}
