import { claimMessages, claimReasons } from '@sandlot/api-types';
import { wait } from '../plan/plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';
import { hasPlace } from './quota.ts';

/** Nothing enqueues the claim when another claim of its key ends. */
const QUOTA_RETRY_MS = 5_000;

/** The plan of a claim whose API key has no place left; undefined when it may have a Sandbox. */
export function decideQuotaBlock({ claim, quota }: ClaimSnapshot): Plan | undefined {
  if (quota === undefined || hasPlace(claim, quota)) return undefined;
  const report = { reason: claimReasons.quotaExceeded, message: claimMessages.quotaExceeded(quota.limit) };
  return [{ kind: 'report', report }, wait(QUOTA_RETRY_MS, 'the API key of the claim has no place left')];
}

/** Takes the claim's places before it gets a Sandbox. */
export function decideAdmission({ quota }: ClaimSnapshot): Plan {
  return quota === undefined ? [] : [{ kind: 'admit' }];
}
