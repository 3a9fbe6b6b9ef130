import { claimConditions, findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isDetached } from '../batch/mode.ts';

/**
 * When the claim was Ready for the first time, as its status tells, as a stamp with nine fractional digits; undefined
 * while it tells of no such time. The record of a process that died before it could note the moment on the claim: to the
 * second, which the fraction shows (API contract, written behind).
 */
export function recordedReadyAt(claim: SandboxClaim): string | undefined {
  const ready = findCondition(claim.status?.conditions, claimConditions.ready);
  const sinceReady = ready?.status === 'True' ? ready.lastTransitionTime : undefined;
  // Of a batch, completion is the end of claiming, and its sandboxes may be Ready later.
  const served = isDetached(claim) ? sinceReady : (claim.status?.completionTime ?? sinceReady);
  const ms = Date.parse(served ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace(/\.\d+Z$/, '.000000001Z');
}
