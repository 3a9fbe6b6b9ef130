import { mergePatchOf, sandboxConditions, findCondition } from '@sandlot/api-types';
import type { SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isFinished, isReady } from '@sandlot/blueprint';
import { censusOf } from './members/count-members.ts';
import { isTurn, newsOf } from './status/decide-events.ts';
import type { Plan, Step } from './plan/plan.ts';
import { TELLING_MS } from './status/progressing.ts';
import { youngForMs } from './rollout/max-age.ts';
import { refilling } from './refill/decide-refill.ts';
import type { Refilling } from './refill/decide-refill.ts';
import { sizingOf } from './members/decide-members.ts';
import type { Sizing } from './members/decide-members.ts';
import type { Member, PoolSnapshot } from './plan/snapshot.ts';
import { poolStatus } from './status/status.ts';
import { lookAtStuckMs, notReadySinceMs } from './members/stuck.ts';
import { RATE_LOOK_MS, targetOf } from './sizing/target.ts';
import type { Target } from './sizing/target.ts';
import { refusalOf, subjectOf } from './history/template-problem.ts';

/** A create or delete that the watch never shows is forgotten after this long (API contract, scaling). */
export const UNSEEN_LIMIT_MS = 30_000;

/** What one pass over a pool does: say how things stand, and bring the number of members to the target. */
export function decide(snapshot: PoolSnapshot): Plan {
  const { pool, memory, lastStatus } = snapshot;
  if (pool.metadata.deletionTimestamp !== undefined) return [];
  const target = targetOf({ ...snapshot, spec: pool.spec, claimRate: memory.claimRate, demands: memory.demands });
  const sizing = sizingOf(snapshot, target.replicas);
  const refill = refillOf(snapshot, sizing);
  const outlook = { target: target.replicas, schedule: target.schedule, heldMs: refill.heldMs };
  const status = poolStatus(snapshot, outlook);
  const news = newsOf({ snapshot, before: lastStatus, after: status, source: target.source });
  const changes = changesOf(snapshot, sizing, refill);
  return [
    { kind: 'remember', demands: target.demands },
    { kind: 'measure', target: target.replicas, census: censusOf(snapshot), claimed: snapshot.inUse },
    ...news,
    ...changes,
    ...writeStatus(snapshot, status, news.length > 0 || isTurn(lastStatus, status)),
    ...looks(snapshot, { target, refill, status, changed: changes.length > 0 }),
  ];
}

function refillOf(snapshot: PoolSnapshot, { missing }: Sizing): Refilling {
  const { pool, template, members, unseenCreates, memory, monotonicMs } = snapshot;
  const possible = template !== undefined && refusalOf(template) === undefined;
  const ready = members.filter(({ sandbox }) => isReady(sandbox)).length;
  return refilling({
    refill: pool.spec.refill,
    maxInFlight: snapshot.maxInFlight,
    missing: possible ? missing : 0,
    ready,
    starting: members.length - ready + unseenCreates,
    adoptions: memory.adoptions,
    tokens: memory.tokens,
    notBeforeMs: memory.trouble?.untilMs,
    nowMs: monotonicMs,
  });
}

function changesOf(snapshot: PoolSnapshot, sizing: Sizing, { count, yields, isShort }: Refilling): readonly Step[] {
  const { template } = snapshot;
  const subject = subjectOf(snapshot);
  const removed = [...sizing.remove, ...sizing.discard].map(({ sandbox }) => sandbox);
  const takenOver = sizing.takeOver.map(({ sandbox }) => sandbox);
  return [
    ...blame(snapshot, sizing.remove),
    ...(takenOver.length === 0 ? [] : [{ kind: 'takeOver', sandboxes: takenOver } as const]),
    ...(removed.length === 0 ? [] : [{ kind: 'delete', members: removed } as const]),
    ...(template === undefined || count === 0
      ? []
      : [{ kind: 'create', count, template, yields, isShort, subject } as const]),
  ];
}

/** A member that ends this soon would be followed by one that does the same, for ever. */
const SHORT_LIFE_MS = 60_000;

function blame(snapshot: PoolSnapshot, removed: readonly Member[]): readonly Step[] {
  const { nowMs } = snapshot;
  const ended = removed.filter(({ sandbox, current }) => {
    const bornMs = Date.parse(sandbox.metadata.creationTimestamp ?? '');
    return current && isFinished(sandbox) && nowMs - bornMs < SHORT_LIFE_MS;
  });
  const [first] = ended;
  if (first === undefined) return [];
  const finished = findCondition(first.sandbox.status?.conditions, sandboxConditions.finished);
  const message = `Members end within a minute of their creation (${finished?.reason ?? 'Finished'}): their containers must keep running`;
  return [{ kind: 'blame', message, subject: subjectOf(snapshot) }];
}

function writeStatus(
  { pool, lastStatus }: PoolSnapshot,
  status: SandboxWarmPoolStatus,
  urgent: boolean,
): readonly Step[] {
  const differs = [pool.status, lastStatus].some((shown) => mergePatchOf(shown, status) !== undefined);
  return differs ? [{ kind: 'writeStatus', status, urgent }] : [];
}

interface Outcome {
  readonly target: Target;
  readonly refill: Refilling;
  readonly status: SandboxWarmPoolStatus;
  readonly changed: boolean;
}

/** Moments at which something is due although no event will tell. */
function looks(snapshot: PoolSnapshot, { target, refill, status, changed }: Outcome): readonly Step[] {
  const { claimRatePerMinute } = status;
  const { pool, members, unseenCreates, unseenDeletes, nowMs, jitter } = snapshot;
  const settled = unseenCreates === 0 && unseenDeletes.size === 0 && !changed;
  const due: readonly (readonly [number | undefined, string])[] = [
    [settled ? undefined : UNSEEN_LIMIT_MS, 'not all that was asked for is seen yet'],
    [refill.waitMs, 'the refill waits'],
    [target.lookAfterMs, 'the target may change'],
    [lookAtStuckMs(members, { policy: pool.spec.stuckMember, nowMs, jitter }), 'members are not Ready'],
    [tellingMs(members, nowMs), 'members are not Ready'],
    [recycleMs(snapshot), 'members grow old'],
    [replaceMs(snapshot), 'members wait to be replaced'],
    [(claimRatePerMinute ?? 0) > 0 ? RATE_LOOK_MS : undefined, 'the claim rate fades'],
  ];
  return due.flatMap(([ms, reason]): Step[] =>
    ms === undefined ? [] : [{ kind: 'wait', ms: Math.max(1, ms), reason }],
  );
}

/** When the status will say why a member is not Ready. */
function tellingMs(members: readonly Member[], nowMs: number): number | undefined {
  const times = members
    .filter(({ sandbox }) => !isReady(sandbox))
    .map(({ sandbox }) => notReadySinceMs(sandbox) + TELLING_MS - nowMs)
    .filter((ms) => ms > 0);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** When stale members may be replaced that were kept because no others could be made. */
function replaceMs({ members, monotonicMs, memory: { trouble } }: PoolSnapshot): number | undefined {
  if (trouble === undefined || trouble.untilMs <= monotonicMs) return undefined;
  return members.every(({ current }) => current) ? undefined : trouble.untilMs - monotonicMs;
}

/** A member that is too old already waits for others to be Ready, which an event tells. */
function recycleMs({ pool, members, nowMs }: PoolSnapshot): number | undefined {
  const ages = members
    .flatMap(({ sandbox }) => youngForMs(sandbox, pool.spec.recycle, nowMs) ?? [])
    .filter((ms) => ms > 0);
  return ages.length === 0 ? undefined : Math.min(...ages);
}
