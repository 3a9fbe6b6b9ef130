import { isReady } from '@sandlot/blueprint';
import type { PoolSnapshot } from '../plan/snapshot.ts';
import { isStuck } from './stuck.ts';

/** States of members in metrics; each member is in exactly one. */
export const MEMBER_STATES = ['ready', 'stale', 'pending', 'stuck', 'terminating'] as const;

/** Members by state: Ready and current, Ready and stale, not Ready, not Ready past the grace, being deleted. */
export type MemberCounts = Readonly<Record<(typeof MEMBER_STATES)[number], number>>;

export function countMembers({ pool, members, terminating, nowMs }: PoolSnapshot): MemberCounts {
  const counts = { ready: 0, stale: 0, pending: 0, stuck: 0, terminating };
  for (const { sandbox, current } of members) {
    if (isReady(sandbox)) counts[current ? 'ready' : 'stale'] += 1;
    else counts[isStuck(sandbox, pool.spec.stuckMember, nowMs) ? 'stuck' : 'pending'] += 1;
  }
  return counts;
}
