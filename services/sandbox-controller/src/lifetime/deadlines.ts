import type { Sandbox } from '@sandlot/api-types';
import { deadlinesAt } from '@sandlot/jobs/deadline';
import type { Deadline } from '@sandlot/jobs/deadline';
import { expiryTimes, isMarkedExpired, startedAtOf } from './expiry.ts';
import { idleDeleteMs, idleSuspendMs } from './idle.ts';
import type { IdleMoment } from './idle.ts';

const NONE: readonly Deadline[] = [];

/**
 * The deadlines that the owner set, at which a Sandbox needs a pass although nothing changes. Decisions use the same
 * functions. Deadlines that have already acted are left out.
 */
export function deadlinesOf(moment: IdleMoment): readonly Deadline[] {
  const { sandbox, nowMs } = moment;
  if (sandbox.metadata.deletionTimestamp !== undefined || !hasLimits(sandbox.spec)) return NONE;
  const { shutdown, ttl } = expiryTimes(sandbox, startedAtOf(moment));
  const isOver = isMarkedExpired(sandbox) && Math.min(shutdown ?? Infinity, ttl ?? Infinity) <= nowMs;
  if (isOver) return NONE;
  return deadlinesAt(sandbox, { shutdown, ttl, idle: idleSuspendMs(moment), retention: idleDeleteMs(moment) });
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
