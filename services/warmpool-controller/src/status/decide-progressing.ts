import {
  findCondition,
  warmPoolConditions,
  warmPoolReasons as reasons,
  formatWarmPoolSelector,
} from '@sandlot/api-types';
import type { NextCondition, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import type { CreationBackoff } from '../history/creation-backoff.ts';
import { describeNotReady, isUnschedulable, getNotReadySinceMs } from '../members/not-ready.ts';
import { isStuck } from '../members/stuck.ts';
import type { Member, PoolSnapshot } from '../plan/snapshot.ts';
import { getSurge } from '../rollout/allowance.ts';

export type Finding = Pick<NextCondition, 'status' | 'reason' | 'message'>;

/** What this pass decided that the status reports. */
export interface Outlook {
  readonly target: number;
  readonly schedule?: string | undefined;
  /** `refill.delay` postpones the refill for this long. */
  readonly heldMs?: number | undefined;
}

/** The condition Progressing: the first of `checks` that applies (docs/reference/sandbox-warm-pool.md#status). */
export function decideProgressing(snapshot: PoolSnapshot, outlook: Outlook): Finding {
  for (const check of checks) {
    const finding = check(snapshot, outlook);
    if (finding !== undefined) return finding;
  }
  return { status: 'True', reason: getSizeReason(snapshot, outlook), message: formatSizeMessage(snapshot, outlook) };
}

type Check = (snapshot: PoolSnapshot, outlook: Outlook) => Finding | undefined;

/** The most serious first. */
const checks: readonly Check[] = [checkCreations, checkStuckMembers, checkRecovery, checkHeldRefill];

/** Errors that another attempt seldom mends: the status reports the first of them. */
const LASTING_CODES: readonly string[] = ['Forbidden', 'Invalid', 'BadRequest'];
/** Other failures count from this attempt on. */
const LASTING_ATTEMPTS = 3;

function isLasting({ code, attempt }: CreationBackoff): boolean {
  return LASTING_CODES.includes(code) || attempt >= LASTING_ATTEMPTS;
}

function checkCreations({ history: { backoff } }: PoolSnapshot): Finding | undefined {
  if (backoff === undefined || !isLasting(backoff)) return undefined;
  const message = `${backoff.message}. Tried again with growing pauses`;
  return { status: 'False', reason: reasons.notProgressing, message };
}

function checkStuckMembers(snapshot: PoolSnapshot, outlook: Outlook): Finding | undefined {
  const { pool, members, nowMs } = snapshot;
  const stuck = members.filter(({ sandbox }) => isStuck(sandbox, pool.spec.stuckMember, nowMs));
  if (stuck.length === 0) return undefined;
  const message = `${formatSizeMessage(snapshot, outlook, stuck)}. Their Pods carry the label ${formatWarmPoolSelector(pool.metadata.name ?? '')}`;
  return { status: 'False', reason: reasons.notProgressing, message };
}

/** A pool that was not progressing progresses when one more member is Ready, not when it replaces a stuck one. */
function checkRecovery(snapshot: PoolSnapshot, outlook: Outlook): Finding | undefined {
  const { lastStatus } = snapshot;
  if (!isNotProgressing(lastStatus)) return undefined;
  const ready = countReady(snapshot);
  if (ready >= outlook.target || ready > (lastStatus?.readyReplicas ?? 0)) return undefined;
  const message = `No member has become Ready since: ${formatSizeMessage(snapshot, outlook)}`;
  return { status: 'False', reason: reasons.notProgressing, message };
}

/** Whether this status reports the pool as not progressing. */
export function isNotProgressing(status: SandboxWarmPoolStatus | undefined): boolean {
  return findProgressReason(status) === reasons.notProgressing;
}

function findProgressReason(status: SandboxWarmPoolStatus | undefined): string | undefined {
  return findCondition(status?.conditions, warmPoolConditions.progressing)?.reason;
}

function checkHeldRefill(snapshot: PoolSnapshot, outlook: Outlook): Finding | undefined {
  if (outlook.heldMs === undefined) return undefined;
  const message = `${formatSizeMessage(snapshot, outlook)}; the refill waits until adoptions pause for ${snapshot.pool.spec.refill?.delay ?? '0s'}`;
  return { status: 'False', reason: reasons.refillHeld, message };
}

/** Whether a rollout runs: the pool has stale members, or it had and is not full again. */
export function isRollingOut(snapshot: PoolSnapshot, { target }: Outlook): boolean {
  const { pool, template, members, lastStatus } = snapshot;
  const type = pool.spec.updateStrategy?.type ?? 'OnReplenish';
  if (template === undefined || type === 'OnReplenish') return false;
  if (members.some(({ current }) => !current)) return true;
  return wasRollingOut(lastStatus) && countReady(snapshot) < target;
}

export function wasRollingOut(status: SandboxWarmPoolStatus | undefined): boolean {
  return findProgressReason(status) === reasons.rollingOut;
}

function getSizeReason(snapshot: PoolSnapshot, outlook: Outlook): string {
  const { pool, members } = snapshot;
  const { target } = outlook;
  if (members.length > target + getSurge(pool.spec, target, members)) return reasons.scalingDown;
  if (isRollingOut(snapshot, outlook)) return reasons.rollingOut;
  return members.length < target || countReady(snapshot) < target ? reasons.scalingUp : reasons.scaledToTarget;
}

/** The status says why a member is not Ready after this long; most members are Ready before. */
export const SLOW_MEMBER_MS = 10_000;

function formatSizeMessage(
  snapshot: PoolSnapshot,
  { target }: Outlook,
  notReady: readonly Member[] = listSlowMembers(snapshot),
): string {
  const { members, networkGap } = snapshot;
  const text = `${members.length} members, ${countReady(snapshot)} Ready, ${target} wanted`;
  const gap =
    networkGap === undefined || members.length >= target ? '' : `; waits for its NetworkPolicy: ${networkGap}`;
  return `${text}${gap}${notReady.length === 0 ? '' : `; not Ready: ${describeNotReady(notReady)}`}`;
}

function listSlowMembers({ members, nowMs }: PoolSnapshot): readonly Member[] {
  return members.filter(
    ({ sandbox }) =>
      !isReady(sandbox) && (isUnschedulable(sandbox) || nowMs - getNotReadySinceMs(sandbox) >= SLOW_MEMBER_MS),
  );
}

function countReady({ members }: PoolSnapshot): number {
  return members.filter(({ sandbox }) => isReady(sandbox)).length;
}
