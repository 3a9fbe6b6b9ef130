import { findCondition, buildMergePatch, sandboxConditions } from '@sandlot/api-types';
import type { SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isFinished, isReady } from '@sandlot/blueprint';
import { selectGolden } from './golden/select-golden.ts';
import { formatCreationSubject } from './history/creation-backoff.ts';
import { countMembers } from './members/count-members.ts';
import { decideMembers } from './members/decide-members.ts';
import type { MemberChanges } from './members/decide-members.ts';
import { getNotReadySinceMs } from './members/not-ready.ts';
import { findMsUntilStuck } from './members/stuck.ts';
import type { Plan, Step } from './plan/plan.ts';
import type { Member, PoolSnapshot } from './plan/snapshot.ts';
import { decideRefill } from './refill/decide-refill.ts';
import type { Refill } from './refill/decide-refill.ts';
import { canStartMembers } from './refill/template-problem.ts';
import { findMsUntilTooOld } from './rollout/max-age.ts';
import { CLAIM_RATE_RECHECK_MS, decideTarget } from './sizing/decide-target.ts';
import type { Target } from './sizing/decide-target.ts';
import { buildStatus } from './status/build-status.ts';
import { decideEvents, isUrgent } from './status/decide-events.ts';
import { SLOW_MEMBER_MS } from './status/decide-progressing.ts';

/** A create or delete that the watch never shows counts for this long (docs/reference/sandbox-warm-pool.md#scaling). */
export const UNSEEN_LIMIT_MS = 30_000;

/** What one pass over a pool does: it brings the members to the target and reports how the pool stands. */
export function decide(snapshot: PoolSnapshot): Plan {
  const { pool, history, lastStatus } = snapshot;
  if (pool.metadata.deletionTimestamp !== undefined) return [];
  const { claimRate, demands } = history;
  const target = decideTarget({ ...snapshot, spec: pool.spec, claimRate, demands });
  const members = decideMembers(snapshot, target.replicas);
  const refill = buildRefill(snapshot, members);
  const outlook = { target: target.replicas, schedule: target.schedule, heldMs: refill.heldMs };
  const status = buildStatus(snapshot, outlook);
  const events = decideEvents({ snapshot, before: lastStatus, after: status, source: target.source });
  const writes = listMemberWrites(snapshot, members, refill);
  return [
    { kind: 'recordDemands', demands: target.demands },
    { kind: 'updateMetrics', target: target.replicas, counts: countMembers(snapshot), inUse: snapshot.inUse },
    ...events.map((event): Step => ({ kind: 'event', ...event })),
    ...writes,
    ...listStatusWrites(snapshot, status, events.length > 0 || isUrgent(lastStatus, status)),
    ...listRequeues(snapshot, { target, refill, status, isWriting: writes.length > 0 }),
  ];
}

function buildRefill(snapshot: PoolSnapshot, { missing }: MemberChanges): Refill {
  const { pool, members, unseenCreates, history, monotonicMs } = snapshot;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  return decideRefill({
    refill: pool.spec.refill,
    maxInFlight: snapshot.maxInFlight,
    missing: canStartMembers(snapshot) ? missing : 0,
    ready,
    starting: members.length - ready + unseenCreates,
    adoptions: history.adoptions,
    tokens: history.tokens,
    notBeforeMs: history.backoff?.untilMs,
    nowMs: monotonicMs,
  });
}

function listMemberWrites(
  snapshot: PoolSnapshot,
  { remove, discard, takeOver }: MemberChanges,
  { count, yields, isShort }: Refill,
): readonly Step[] {
  const { template } = snapshot;
  const subject = formatCreationSubject(snapshot);
  const deleted = [...remove, ...discard].map(({ sandbox }) => sandbox);
  const takenOver = takeOver.map(({ sandbox }) => sandbox);
  return [
    ...forgetShortLived(snapshot, remove),
    ...(takenOver.length === 0 ? [] : [{ kind: 'takeOver', sandboxes: takenOver } as const]),
    ...(deleted.length === 0 ? [] : [{ kind: 'delete', members: deleted } as const]),
    ...(template === undefined || count === 0
      ? []
      : [{ kind: 'create', count, template, golden: selectGolden(snapshot), yields, isShort, subject } as const]),
  ];
}

/** Members whose Pods end sooner than this start a back-off, or the pool would create and delete members for ever. */
const SHORT_LIFE_MS = 60_000;

function forgetShortLived(snapshot: PoolSnapshot, removed: readonly Member[]): readonly Step[] {
  const { nowMs } = snapshot;
  const ended = removed.filter(({ sandbox, current }) => {
    const createdMs = Date.parse(sandbox.metadata.creationTimestamp ?? '');
    return current && isFinished(sandbox) && nowMs - createdMs < SHORT_LIFE_MS;
  });
  const [first] = ended;
  if (first === undefined) return [];
  const finished = findCondition(first.sandbox.status?.conditions, sandboxConditions.finished);
  const message = `Members end within a minute of their creation (${finished?.reason ?? 'Finished'}): their containers must keep running`;
  return [{ kind: 'recordShortLived', message, subject: formatCreationSubject(snapshot) }];
}

function listStatusWrites(
  { lastStatus, statusNotBeforeMs }: PoolSnapshot,
  status: SandboxWarmPoolStatus,
  urgent: boolean,
): readonly Step[] {
  const patch = buildMergePatch(lastStatus, status);
  if (patch === undefined) return [];
  return [{ kind: 'writeStatus', status, patch, notBeforeMs: urgent ? undefined : statusNotBeforeMs }];
}

interface Outcome {
  readonly target: Target;
  readonly refill: Refill;
  readonly status: SandboxWarmPoolStatus;
  readonly isWriting: boolean;
}

/** Moments at which the pool needs another pass although no event enqueues it. */
function listRequeues(snapshot: PoolSnapshot, { target, refill, status, isWriting }: Outcome): readonly Step[] {
  const { claimRatePerMinute = 0 } = status;
  const { pool, members, unseenCreates, unseenDeletes, nowMs, jitter } = snapshot;
  const allSeen = unseenCreates === 0 && unseenDeletes.size === 0 && !isWriting;
  const due: readonly (readonly [number | undefined, string])[] = [
    [allSeen ? undefined : UNSEEN_LIMIT_MS, 'the watch has not shown all writes'],
    [refill.waitMs, 'the refill waits'],
    [target.recheckAfterMs, 'the target may change'],
    [findMsUntilStuck(members, { policy: pool.spec.stuckMember, nowMs, jitter }), 'members are not Ready'],
    [findMsUntilSlow(members, nowMs), 'members are not Ready'],
    [findMsUntilRecycle(snapshot), 'members grow old'],
    [findMsUntilReplacement(snapshot), 'members wait for their replacement'],
    [claimRatePerMinute > 0 ? CLAIM_RATE_RECHECK_MS : undefined, 'the claim rate fades'],
  ];
  return due.flatMap(([ms, reason]): Step[] =>
    ms === undefined ? [] : [{ kind: 'requeue', afterMs: Math.max(1, ms), reason }],
  );
}

/** When the status starts to say why a member is not Ready. */
function findMsUntilSlow(members: readonly Member[], nowMs: number): number | undefined {
  return findNext(
    members
      .filter(({ sandbox }) => !isReady(sandbox))
      .map(({ sandbox }) => getNotReadySinceMs(sandbox) + SLOW_MEMBER_MS - nowMs),
  );
}

/** When the pool may replace the stale members that it kept because creations failed. */
function findMsUntilReplacement({ members, monotonicMs, history: { backoff } }: PoolSnapshot): number | undefined {
  if (backoff === undefined || backoff.untilMs <= monotonicMs) return undefined;
  return members.every(({ current }) => current) ? undefined : backoff.untilMs - monotonicMs;
}

/** A member that is already too old waits until others are Ready, and the watch shows that. */
function findMsUntilRecycle({ pool, members, nowMs }: PoolSnapshot): number | undefined {
  return findNext(members.flatMap(({ sandbox }) => findMsUntilTooOld(sandbox, pool.spec.recycle, nowMs) ?? []));
}

function findNext(times: readonly number[]): number | undefined {
  const future = times.filter((ms) => ms > 0);
  return future.length === 0 ? undefined : Math.min(...future);
}
