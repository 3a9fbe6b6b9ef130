import { resolveMode, findWakeObstacle } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isMarkedExpired } from '../lifetime/expiry.ts';
import { needsStartupRecord } from '../lifetime/decide-startup.ts';
import { resumeStep } from '../lifetime/suspend-steps.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';
import type { WakeRefusal } from './wake-answers.ts';

/**
 * What to do about a request to wake the Sandbox. `wait`: the status must first show the suspension. `none`: there is no
 * request, or the Sandbox runs as far as we know; the request then stands until it lapses, because the cache may lag.
 */
export type WakeDecision =
  | { readonly kind: 'none' | 'wait' }
  | { readonly kind: 'resume'; readonly plan: Plan }
  | { readonly kind: 'refuse'; readonly step: Step };

/**
 * Decides who may wake the Sandbox: docs/reference/sandbox.md#idle-suspend-and-resume. A permitted request is answered by
 * an ordinary resume in the spelling that the Sandbox uses, which fails when somebody edits the Sandbox meanwhile.
 * `deadlineMs` is the effective expiry of the Sandbox, epoch milliseconds.
 */
export function decideWake(snapshot: Snapshot, deadlineMs: number | undefined): WakeDecision {
  const { sandbox, wakeRequestUntilMs, wakeTrace, nowMs } = snapshot;
  if (wakeRequestUntilMs === undefined) return { kind: 'none' };
  const isOver = isMarkedExpired(sandbox) || (deadlineMs !== undefined && deadlineMs <= nowMs);
  const refusal = isOver ? 'expired' : findWakeRefusal(sandbox);
  if (refusal !== undefined) return { kind: 'refuse', step: { kind: 'answerWake', answer: refusal } };
  if (resolveMode(sandbox.spec) === 'Running') return { kind: 'none' };
  if (!isSuspensionPublished(sandbox)) return { kind: 'wait' };
  return { kind: 'resume', plan: [resumeStep(sandbox, wakeTrace), { kind: 'answerWake', answer: 'resumed' }] };
}

function findWakeRefusal({ metadata, spec }: Sandbox): WakeRefusal | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'deleting';
  if (resolveMode(spec) === 'Running') return undefined;
  return findWakeObstacle({ metadata, spec }, undefined);
}

/**
 * The resume removes the record of who suspended the Sandbox. Before that the status must show what the record proves:
 * that the startup action ran, and that the idle clock stopped.
 */
function isSuspensionPublished(sandbox: Sandbox): boolean {
  const { metadata, status } = sandbox;
  const isShown = status?.phase === 'Suspended' || status?.phase === 'Suspending';
  return isShown && status.observedGeneration === metadata.generation && !needsStartupRecord(sandbox);
}
