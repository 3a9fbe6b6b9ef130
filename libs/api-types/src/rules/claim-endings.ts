import { claimReasons } from '../catalogue/claim.ts';

/**
 * How a claim ends: `refused`, what it asks for is not allowed and only another claim helps; `broken`, its sandbox did
 * not start; `late`, it was not served in time; `expired`, its time or that of its Sandbox is over.
 */
export type ClaimEnding = 'refused' | 'broken' | 'late' | 'expired';

const ENDINGS: ReadonlyMap<string, ClaimEnding> = new Map<string, ClaimEnding>([
  [claimReasons.claimTimeout, 'late'],
  [claimReasons.sandboxInitFailed, 'broken'],
  [claimReasons.invalidMetadata, 'refused'],
  [claimReasons.envVarsInjectionRejected, 'refused'],
  [claimReasons.imageOverrideRejected, 'refused'],
  [claimReasons.resourcesOverrideRejected, 'refused'],
  [claimReasons.dynamicVolumesRejected, 'refused'],
  [claimReasons.sandboxNameRejected, 'refused'],
  [claimReasons.egressNotAvailable, 'refused'],
  [claimReasons.volumeClaimTemplatesError, 'refused'],
  [claimReasons.claimExpired, 'expired'],
  [claimReasons.sandboxExpired, 'expired'],
]);

/**
 * The ending that a reason of Ready=False announces; undefined for a reason that may pass
 * (docs/reference/sandbox-claim.md#conditions).
 */
export function findClaimEnding(reason: string): ClaimEnding | undefined {
  return ENDINGS.get(reason);
}

/** Reasons with which a claim fails before it ever has a Sandbox to expire. */
export const claimFailureReasons: readonly string[] = [...ENDINGS]
  .filter(([, ending]) => ending !== 'expired')
  .map(([reason]) => reason);
