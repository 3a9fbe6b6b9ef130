import { claimConditions, findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isDetached } from '../batch/mode.ts';

/**
 * When the claim first became Ready according to its status, as a stamp with nine fractional digits; undefined while the
 * status has no such time. Needed when a process died before it annotated the claim. The status is cut to the second, which
 * the fraction shows (docs/reference/labels-and-annotations.md#annotations).
 */
export function findRecordedReadyAt(claim: SandboxClaim): string | undefined {
  const ready = findCondition(claim.status?.conditions, claimConditions.ready);
  const sinceReady = ready?.status === 'True' ? ready.lastTransitionTime : undefined;
  // The completion of a batch is the end of claiming; its sandboxes may become Ready later.
  const served = isDetached(claim) ? sinceReady : (claim.status?.completionTime ?? sinceReady);
  const ms = Date.parse(served ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace(/\.\d+Z$/, '.000000001Z');
}
