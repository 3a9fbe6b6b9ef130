import { findCondition, warmPoolConditions, warmPoolReasons as reasons, warmPoolSelector } from '@sandlot/api-types';
import type { NextCondition, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import type { Trouble } from '../history/history.ts';
import { surgeOf } from '../rollout/rollout.ts';
import type { Member, PoolSnapshot } from '../plan/snapshot.ts';
import { ailmentsText, isStuck, isUnschedulable, notReadySinceMs } from '../members/stuck.ts';

export type Finding = Pick<NextCondition, 'status' | 'reason' | 'message'>;

/** What the status says beyond the snapshot. */
export interface Outlook {
  readonly target: number;
  readonly schedule?: string | undefined;
  /** `refill.delay` holds missing members back for this long. */
  readonly heldMs?: number | undefined;
}

/** Members that are not Ready for longer than the pool's patience, replaced or held. */
function stuckMembers({ pool, members, nowMs }: PoolSnapshot): readonly Member[] {
  return members.filter(({ sandbox }) => isStuck(sandbox, pool.spec.stuckMember, nowMs));
}

/** Condition Progressing: the first of these that applies, the gravest first (API contract, warm pools). */
export function progressing(snapshot: PoolSnapshot, outlook: Outlook): Finding {
  for (const check of checks) {
    const finding = check(snapshot, outlook);
    if (finding !== undefined) return finding;
  }
  return { status: 'True', reason: sizeReason(snapshot, outlook), message: sizeText(snapshot, outlook) };
}

type Check = (snapshot: PoolSnapshot, outlook: Outlook) => Finding | undefined;

const checks: readonly Check[] = [failing, stuck, unrecovered, held];

/** One failure is often none a moment later; these are not. */
const LASTING: readonly string[] = ['Forbidden', 'Invalid', 'BadRequest'];
const LASTING_ATTEMPTS = 3;

function isLasting({ code, attempt }: Trouble): boolean {
  return LASTING.includes(code) || attempt >= LASTING_ATTEMPTS;
}

function failing({ memory: { trouble } }: PoolSnapshot): Finding | undefined {
  if (trouble === undefined || !isLasting(trouble)) return undefined;
  const message = `${trouble.message}. Tried again with growing pauses`;
  return { status: 'False', reason: reasons.notProgressing, message };
}

function stuck(snapshot: PoolSnapshot, outlook: Outlook): Finding | undefined {
  const members = stuckMembers(snapshot);
  if (members.length === 0) return undefined;
  const message = `${sizeText(snapshot, outlook, members)}. Their Pods carry the label ${warmPoolSelector(snapshot.pool.metadata.name ?? '')}`;
  return { status: 'False', reason: reasons.notProgressing, message };
}

/** Replacing a stuck member is no progress; a member that becomes Ready is. */
function unrecovered(snapshot: PoolSnapshot, outlook: Outlook): Finding | undefined {
  const { members, lastStatus } = snapshot;
  if (!isNotProgressing(lastStatus)) return undefined;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  if (ready >= outlook.target || ready > (lastStatus?.readyReplicas ?? 0)) return undefined;
  const message = `No member has become Ready since: ${sizeText(snapshot, outlook)}`;
  return { status: 'False', reason: reasons.notProgressing, message };
}

/** Whether the pool was reported as not progressing. */
export function isNotProgressing(status: SandboxWarmPoolStatus | undefined): boolean {
  return findCondition(status?.conditions, warmPoolConditions.progressing)?.reason === reasons.notProgressing;
}

function held(snapshot: PoolSnapshot, outlook: Outlook): Finding | undefined {
  if (outlook.heldMs === undefined) return undefined;
  const message = `${sizeText(snapshot, outlook)}; the refill waits until adoptions pause for ${snapshot.pool.spec.refill?.delay ?? '0s'}`;
  return { status: 'False', reason: reasons.refillHeld, message };
}

/** Stale members are being replaced, or were and the pool is not full again. */
export function isRollingOut({ pool, template, members, lastStatus }: PoolSnapshot, { target }: Outlook): boolean {
  const type = pool.spec.updateStrategy?.type ?? 'OnReplenish';
  if (template === undefined || type === 'OnReplenish') return false;
  if (members.some(({ current }) => !current)) return true;
  return wasRollingOut(lastStatus) && members.filter(({ sandbox }) => isReady(sandbox)).length < target;
}

export function wasRollingOut(status: SandboxWarmPoolStatus | undefined): boolean {
  return findCondition(status?.conditions, warmPoolConditions.progressing)?.reason === reasons.rollingOut;
}

function sizeReason(snapshot: PoolSnapshot, outlook: Outlook): string {
  const { pool, members } = snapshot;
  const { target } = outlook;
  if (members.length > target + surgeOf(pool.spec, target, members)) return reasons.scalingDown;
  if (isRollingOut(snapshot, outlook)) return reasons.rollingOut;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  return members.length < target || ready < target ? reasons.scalingUp : reasons.scaledToTarget;
}

/** Members that take longer than this deserve a word; most are Ready before. */
export const TELLING_MS = 10_000;

function sizeText(snapshot: PoolSnapshot, { target }: Outlook, ailing: readonly Member[] = slow(snapshot)): string {
  const { members } = snapshot;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  const text = `${members.length} members, ${ready} Ready, ${target} wanted`;
  return ailing.length === 0 ? text : `${text}; not Ready: ${ailmentsText(ailing)}`;
}

function slow({ members, nowMs }: PoolSnapshot): readonly Member[] {
  return members.filter(
    ({ sandbox }) => !isReady(sandbox) && (isUnschedulable(sandbox) || nowMs - notReadySinceMs(sandbox) >= TELLING_MS),
  );
}
