import { findCondition, labels, launchTypes, resolveMode, sandboxConditions, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { pacing } from '@sandlot/pacing';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { getPublishedName } from './status.ts';

/**
 * Milliseconds for which a claim of a burst does not show its cold Sandbox yet: most are Ready by then, and one write shows
 * the Sandbox and Ready (docs/reference/sandbox-claim.md#cold-start). Undefined when the claim shows it at once. That is so
 * for a Sandbox that another process committed, so no crash makes a hold longer.
 */
export function decideHold(
  { claim, isInBurst, committedForMs }: Pick<ClaimSnapshot, 'claim' | 'isInBurst' | 'committedForMs'>,
  sandbox: Sandbox,
): number | undefined {
  if (!isInBurst || committedForMs === undefined || hasReport(claim) || !isStartingCold(sandbox)) return undefined;
  const leftMs = pacing.coldStatus.holdMs - committedForMs;
  return leftMs > 0 ? leftMs : undefined;
}

/** Whether the status says something that the Sandbox makes untrue, such as why there is none, or shows it already. */
function hasReport(claim: SandboxClaim): boolean {
  return (claim.status?.conditions ?? []).length > 0 || getPublishedName(claim) !== '';
}

/** Whether it is on its way to Ready, as far as it says. Every other state is news for the owner of the claim. */
function isStartingCold({ metadata, spec, status }: Sandbox): boolean {
  if (metadata.labels?.[labels.launchType] !== launchTypes.cold || metadata.deletionTimestamp !== undefined)
    return false;
  if (resolveMode(spec) === 'Suspended' || spec.startup?.action === 'Suspended') return false;
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  return ready === undefined || ready.reason === sandboxReasons.dependenciesNotReady;
}
