import type { Sandbox } from '@sandlot/api-types';
import { listDeadlinesAt } from '@sandlot/jobs/deadline';
import type { Deadline } from '@sandlot/jobs/deadline';
import { getExpiryTimes, isMarkedExpired, findStartedAt } from './expiry.ts';
import { findIdleDeleteMs, findIdleSuspendMs } from './idle.ts';
import type { IdleMoment } from './idle.ts';

const NONE: readonly Deadline[] = [];

/**
 * The deadlines that the owner set, at which a Sandbox needs a pass although nothing changes. Decisions use the same
 * functions. Deadlines that have already acted are left out.
 */
export function listDeadlines(moment: IdleMoment): readonly Deadline[] {
  const { sandbox, nowMs } = moment;
  if (sandbox.metadata.deletionTimestamp !== undefined || !hasLimits(sandbox.spec)) return NONE;
  const { shutdown, ttl } = getExpiryTimes(sandbox, findStartedAt(moment));
  const isOver = isMarkedExpired(sandbox) && Math.min(shutdown ?? Infinity, ttl ?? Infinity) <= nowMs;
  if (isOver) return NONE;
  return listDeadlinesAt(sandbox, {
    shutdown,
    ttl,
    idle: findIdleSuspendMs(moment),
    retention: findIdleDeleteMs(moment),
  });
}

/** A quick answer for most Sandboxes, which have no limits. */
function hasLimits({ shutdownTime, ttlSeconds, ttlSecondsAfterFinished, idle }: Sandbox['spec']): boolean {
  return (
    shutdownTime !== undefined ||
    ttlSeconds !== undefined ||
    ttlSecondsAfterFinished !== undefined ||
    idle !== undefined
  );
}
