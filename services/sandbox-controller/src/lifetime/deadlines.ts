import type { Sandbox } from '@sandlot/api-types';
import { deadlinesAt } from '@sandlot/jobs/deadline';
import type { Deadline } from '@sandlot/jobs/deadline';
import { expiryTimes, isMarkedExpired } from './expiry.ts';
import { idleDeleteMs, idleSuspendMs } from './idle.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { startOf } from '../status/status.ts';

const NONE: readonly Deadline[] = [];

/**
 * The moments of its owner's choice at which a Sandbox has to be looked at although nothing changes. Decisions go by the
 * same functions. What has acted already is not among them.
 */
export function deadlinesOf(
  moment: Pick<Snapshot, 'sandbox' | 'nowMs'> & Partial<Pick<Snapshot, 'reportSeenMs' | 'usedMs'>>,
): readonly Deadline[] {
  const { sandbox, nowMs } = moment;
  if (sandbox.metadata.deletionTimestamp !== undefined || !canBeDue(sandbox.spec)) return NONE;
  const { shutdown, ttl } = expiryTimes(sandbox, startOf(moment));
  const isOver = isMarkedExpired(sandbox) && Math.min(shutdown ?? Infinity, ttl ?? Infinity) <= nowMs;
  if (isOver) return NONE;
  return deadlinesAt(sandbox, { shutdown, ttl, idle: idleSuspendMs(moment), retention: idleDeleteMs(moment) });
}

/** Most Sandboxes have none of this: they cost a look at four fields. */
function canBeDue({ shutdownTime, ttlSeconds, ttlSecondsAfterFinished, idle }: Sandbox['spec']): boolean {
  return (
    shutdownTime !== undefined ||
    ttlSeconds !== undefined ||
    ttlSecondsAfterFinished !== undefined ||
    idle !== undefined
  );
}
