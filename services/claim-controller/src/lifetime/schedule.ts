import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { deadlinesAt } from '@sandlot/jobs/deadline';
import type { Deadline } from '@sandlot/jobs/deadline';
import {
  claimingEndsAtMs,
  completedTtlAtMs,
  finishedTtlAtMs,
  hasAnnouncedExpiry,
  isPaused,
  pauseAtMs,
  shutdownAtMs,
} from './deadlines.ts';

const NONE: readonly Deadline[] = [];

/**
 * The moments at which a claim needs a pass although nothing changes, without those that have acted already. Decisions use
 * the same functions of `deadlines.ts`.
 */
export function deadlinesOf(claim: SandboxClaim): readonly Deadline[] {
  const { metadata } = claim;
  if (metadata.deletionTimestamp !== undefined || !canBeDue(claim)) return NONE;
  const isExpired = hasAnnouncedExpiry(claim);
  return deadlinesAt(claim, {
    shutdown: isExpired ? undefined : shutdownAtMs(claim),
    ttl: isExpired ? undefined : finishedTtlAtMs(claim),
    'claim-timeout': isExpired ? undefined : claimingEndsAtMs(claim),
    retention: completedTtlAtMs(claim),
    pause: isExpired || isPaused(claim) ? undefined : pauseAtMs(claim),
  });
}

/** Cheap test of five fields: most claims have no deadline. */
function canBeDue({ metadata, spec }: SandboxClaim): boolean {
  const { lifecycle, claimTimeout, ttlSecondsAfterCompleted, replicas = 1 } = spec;
  if (lifecycle !== undefined || claimTimeout !== undefined || ttlSecondsAfterCompleted !== undefined) return true;
  return replicas > 1 || metadata.annotations?.[annotations.onTimeout] !== undefined;
}
