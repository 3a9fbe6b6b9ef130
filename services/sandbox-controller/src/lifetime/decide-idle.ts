import { eventReasons } from '@sandlot/api-types';
import { hasFailed } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';
import { findIdleDeleteMs, findIdleSuspendMs } from './idle.ts';
import { suspendStep } from './suspend-steps.ts';

/** Suspends a Sandbox that was unused for `idle.suspendAfterSeconds`: docs/reference/sandbox.md#idle-suspend-and-resume. */
export function decideIdleSuspension(snapshot: Snapshot): Plan {
  const isDue = isPast(findIdleSuspendMs(snapshot), snapshot) && !isPast(findIdleDeleteMs(snapshot), snapshot);
  return isDue ? [suspendStep(snapshot.sandbox, 'Idle')] : [];
}

/**
 * Deletes a Sandbox that was unused for `idle.deleteAfterSeconds`, but only once its disks are owned as `whenDeleted` says:
 * garbage collection deletes the disks that the Sandbox still owns.
 */
export function decideIdleDeletion(snapshot: Snapshot): Plan {
  const { sandbox } = snapshot;
  if (!isPast(findIdleDeleteMs(snapshot), snapshot)) return [];
  if (hasFailed(snapshot, 'disks') || hasFailed(snapshot, 'expiry')) return [];
  const seconds = sandbox.spec.idle?.deleteAfterSeconds ?? 0;
  const message = `Sandbox was deleted: nobody had used it for ${seconds} s, which is its idle.deleteAfterSeconds`;
  const note = { type: 'Normal', reason: eventReasons.idleDeleted, message } as const;
  return [{ kind: 'deleteSandbox', phase: 'expiry', note }];
}

/**
 * Whether a limit acts in this pass. As with an expiry, a normal pass sees an edit of the spec first. A limit does not act
 * while a request to wake the Sandbox stands: before that lapses, a client that was let in has reported activity.
 */
function isPast(limitMs: number | undefined, { sandbox, nowMs, wakeRequestUntilMs }: Snapshot): boolean {
  const isSeen = sandbox.status?.observedGeneration === sandbox.metadata.generation;
  return isSeen && wakeRequestUntilMs === undefined && limitMs !== undefined && limitMs <= nowMs;
}
