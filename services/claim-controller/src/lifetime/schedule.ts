import { annotations } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { listDeadlinesAt } from '@sandlot/jobs/deadline';
import type { Deadline } from '@sandlot/jobs/deadline';
import {
  findClaimingEndMs,
  findCompletedTtlAtMs,
  findFinishedTtlAtMs,
  hasAnnouncedExpiry,
  isPaused,
  pauseAtMs,
  findShutdownAtMs,
} from './deadlines.ts';

const NONE: readonly Deadline[] = [];

/**
 * The moments at which a claim needs a pass although nothing changes, without those that have acted already. Decisions use
 * the same functions of `deadlines.ts`.
 */
export function listDeadlines(claim: SandboxClaim): readonly Deadline[] {
  const { metadata } = claim;
  if (metadata.deletionTimestamp !== undefined || !canBeDue(claim)) return NONE;
  const isExpired = hasAnnouncedExpiry(claim);
  return listDeadlinesAt(claim, {
    shutdown: isExpired ? undefined : findShutdownAtMs(claim),
    ttl: isExpired ? undefined : findFinishedTtlAtMs(claim),
    'claim-timeout': isExpired ? undefined : findClaimingEndMs(claim),
    retention: findCompletedTtlAtMs(claim),
    pause: isExpired || isPaused(claim) ? undefined : pauseAtMs(claim),
  });
}

/** Cheap test of five fields: most claims have no deadline. */
function canBeDue({ metadata, spec }: SandboxClaim): boolean {
  const { lifecycle, claimTimeout, ttlSecondsAfterCompleted, replicas = 1 } = spec;
  if (lifecycle !== undefined || claimTimeout !== undefined || ttlSecondsAfterCompleted !== undefined) return true;
  return replicas > 1 || metadata.annotations?.[annotations.onTimeout] !== undefined;
}
