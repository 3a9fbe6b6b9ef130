import { effectiveMode, wakeObstacleOf } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isMarkedExpired } from '../lifetime/expiry.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isStartupUntold } from '../lifetime/decide-startup.ts';
import { resumeStep } from '../lifetime/suspend.ts';
import type { Step } from '../plan/steps.ts';
import type { WakeRefusal } from './wake-refusals.ts';

/**
 * The answer to a request to wake the Sandbox (API contract, idle). `later`: it may be woken once its status tells of the
 * suspension. `none`: nobody asked, or it is not suspended as far as we know; a cache that lags may still show that it is.
 */
export type WakeAnswer =
  | { readonly kind: 'none' | 'later' }
  | { readonly kind: 'resume'; readonly step: Step }
  | { readonly kind: 'refuse'; readonly step: Step };

/**
 * Decides about a request to wake the Sandbox. Whoever may wake it is answered by an ordinary resume, in the spec and in
 * its own spelling, that an edit made meanwhile defeats. `deadlineMs` is its effective expiry.
 */
export function decideWake(snapshot: Snapshot, deadlineMs: number | undefined): WakeAnswer {
  const { sandbox, wakeUntilMs, wakeTrace, nowMs } = snapshot;
  if (wakeUntilMs === undefined) return { kind: 'none' };
  const isOver = isMarkedExpired(sandbox) || (deadlineMs !== undefined && deadlineMs <= nowMs);
  const refusal = isOver ? 'expired' : refusalOfWake(sandbox);
  if (refusal !== undefined) return { kind: 'refuse', step: { kind: 'refuseWake', why: refusal } };
  if (effectiveMode(sandbox.spec) === 'Running') return { kind: 'none' };
  return isSuspensionTold(sandbox) ? { kind: 'resume', step: resumeStep(sandbox, wakeTrace) } : { kind: 'later' };
}

function refusalOfWake({ metadata, spec }: Sandbox): WakeRefusal | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'deleting';
  if (effectiveMode(spec) === 'Running') return undefined;
  return wakeObstacleOf({ metadata, spec }, undefined);
}

/**
 * The record of who suspended it goes with the resume. Before that the status must have taken from it what it proves: that
 * the startup action was taken, and that the idle clock stopped.
 */
function isSuspensionTold(sandbox: Sandbox): boolean {
  const { metadata, status } = sandbox;
  const isTold = status?.phase === 'Suspended' || status?.phase === 'Suspending';
  return isTold && status.observedGeneration === metadata.generation && !isStartupUntold(sandbox);
}
