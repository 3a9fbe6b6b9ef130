import type { Sandbox, SandboxWarmPoolSpec } from '@sandlot/api-types';
import { isFinished, isReady } from '@sandlot/blueprint';
import type { Member } from '../plan/snapshot.ts';
import { isUnschedulable, getNotReadySinceMs } from './not-ready.ts';

type StuckPolicy = SandboxWarmPoolSpec['stuckMember'];

const DEFAULT_GRACE_SECONDS = 300;

function getGraceMs(policy: StuckPolicy): number {
  return (policy?.graceSeconds ?? DEFAULT_GRACE_SECONDS) * 1_000;
}

/** Not Ready for longer than the grace of the pool. */
export function isStuck(sandbox: Sandbox, policy: StuckPolicy, nowMs: number): boolean {
  return !isReady(sandbox) && !isFinished(sandbox) && nowMs - getNotReadySinceMs(sandbox) > getGraceMs(policy);
}

/**
 * Whether the pool replaces a stuck member. Under `Hold` it keeps an unschedulable one, because a new member would wait
 * too, unless the template has changed: the new blueprint may fit (docs/reference/sandbox-warm-pool.md#stuck-members).
 */
export function needsReplacement({ sandbox, current }: Member, policy: StuckPolicy, hasTemplate: boolean): boolean {
  const hold = (policy?.unschedulable ?? 'Hold') === 'Hold' && isUnschedulable(sandbox);
  return !hold || (hasTemplate && !current);
}

const SLACK_MS = 2_000;
const HOLD_RECHECK_MS = 60_000;

export interface StuckInput {
  readonly policy: StuckPolicy;
  readonly nowMs: number;
  /** In [0, 1): delays the check by up to half, so that many pools do not check at once. */
  readonly jitter: number;
}

/** Milliseconds until the next member may count as stuck, or a held one is checked again; undefined when all are Ready. */
export function findMsUntilStuck(
  members: readonly Member[],
  { policy, nowMs, jitter }: StuckInput,
): number | undefined {
  let soonest: number | undefined;
  for (const { sandbox } of members) {
    if (isReady(sandbox) || isFinished(sandbox)) continue;
    const remainingMs = getNotReadySinceMs(sandbox) + getGraceMs(policy) - nowMs;
    const checkMs = remainingMs < 0 ? HOLD_RECHECK_MS : (remainingMs + SLACK_MS) * (1 + jitter / 2);
    soonest = Math.min(soonest ?? Infinity, checkMs);
  }
  return soonest;
}
