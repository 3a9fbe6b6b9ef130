import { isUploaded, resolveMode } from '@sandlot/api-types';
import { findNext } from '../hibernate/choose-hibernation.ts';
import type { Snapshot } from '../plan/snapshot.ts';

/** `kubectl drain` asks again five seconds after the answer to its last request. */
const ASKED_AGAIN_MS = 8_000;

/**
 * Until when a Sandbox that leaves a node has no Pod, epoch milliseconds; undefined: it may have one. Evictions name the Pod
 * without its UID. One that comes late would end the next Pod on its new node before that runs, or be refused there again and
 * again, so that the drain never ends. Finding no Pod of the name ends it.
 */
export function findVacantUntilMs(snapshot: Snapshot): number | undefined {
  if (snapshot.isSourceEmptied !== true || snapshot.ownedPods.length > 0) return undefined;
  if (resolveMode(snapshot.sandbox.spec) === 'Suspended') return undefined;
  const next = findNext(snapshot);
  if (next === undefined || !isUploaded(next)) return undefined;
  const untilMs = Date.parse(next.status?.remote?.at ?? '') + ASKED_AGAIN_MS;
  return untilMs > snapshot.nowMs ? untilMs : undefined;
}
