import { isFinished, isReady } from '@sandlot/blueprint';
import { olderFirst, readyFloor, replacedNow, surgeOf } from '../rollout/rollout.ts';
import type { Member, PoolSnapshot } from '../plan/snapshot.ts';
import { isReplacedWhenStuck, isStuck } from './stuck.ts';

/** What brings a pool to its size. */
export interface Sizing {
  /** Members that go now. */
  readonly remove: readonly Member[];
  /** Sandboxes nobody controls that become members. */
  readonly takeOver: readonly Member[];
  /** Sandboxes nobody controls that no pool wants. */
  readonly discard: readonly Member[];
  /** Members to be made, before a refill's limits; negative when there are too many. */
  readonly missing: number;
}

/** Which members go and how many come (API contract, scaling, rollout and stuck members). Claimed ones are not looked at. */
export function sizingOf(snapshot: PoolSnapshot, target: number): Sizing {
  const { pool, template, members, strays, terminating, unseenCreates, unseenDeletes } = snapshot;
  const staying = members.filter(({ sandbox }) => !unseenDeletes.has(sandbox.metadata.uid ?? ''));
  const [spent, useful] = partition(staying, (member) => isSpent(member, snapshot));
  const surge = template === undefined ? 0 : surgeOf(pool.spec, target, useful);
  const surplus = victims(useful, useful.length - target - surge, readyFloor(pool.spec, target));
  const left = useful.filter((member) => !surplus.includes(member));
  const replaced = mayReplace(snapshot)
    ? replacedNow({ spec: pool.spec, target, members: left, nowMs: snapshot.nowMs })
    : [];
  const takeOver = template === undefined ? [] : strays.filter(({ current }) => current);
  return {
    remove: [...spent, ...surplus, ...replaced],
    takeOver,
    discard: template === undefined ? [] : strays.filter(({ current }) => !current),
    // Members on their way out and creates not yet seen take places too: a lagging cache never makes a pool too large.
    missing: target + surge - members.length - takeOver.length - terminating - unseenCreates,
  };
}

/**
 * Nobody gives away what serves without knowing how to make another. Once the wait after a failure is over one may be tried:
 * where none is missing, nothing else would ever tell that members can be made again.
 */
function mayReplace({ template, monotonicMs, memory: { trouble } }: PoolSnapshot): boolean {
  return template !== undefined && (trouble === undefined || trouble.untilMs <= monotonicMs);
}

/**
 * A member whose pod has ended serves nobody, nor does one that is stuck. Under Recreate neither does a stale one, and
 * under RollingUpdate a stale one that is not Ready, if there is a template to follow.
 */
function isSpent(member: Member, { pool, template, nowMs }: PoolSnapshot): boolean {
  const { sandbox, current } = member;
  const { updateStrategy, stuckMember } = pool.spec;
  if (isFinished(sandbox)) return true;
  if (isStuck(sandbox, stuckMember, nowMs) && isReplacedWhenStuck(member, stuckMember, template !== undefined))
    return true;
  if (current || template === undefined) return false;
  return updateStrategy?.type === 'Recreate' || (updateStrategy?.type === 'RollingUpdate' && !isReady(sandbox));
}

/**
 * Stale before current, not Ready before Ready, newest before oldest (API contract, scaling); but a rolling update keeps
 * the Ready members it must not be short of.
 */
function victims(members: readonly Member[], surplus: number, floor: number): readonly Member[] {
  if (surplus <= 0) return [];
  const rank = ({ sandbox, current }: Member): number => (current ? 2 : 0) + (isReady(sandbox) ? 1 : 0);
  const sorted = [...members].sort((a, b) => rank(a) - rank(b) || olderFirst(b, a));
  let spare = members.filter(({ sandbox }) => isReady(sandbox)).length - floor;
  return sorted.filter(({ sandbox }) => !isReady(sandbox) || spare-- > 0).slice(0, surplus);
}

function partition<T>(list: readonly T[], test: (entry: T) => boolean): readonly [readonly T[], readonly T[]] {
  const [yes, no]: [T[], T[]] = [[], []];
  for (const entry of list) (test(entry) ? yes : no).push(entry);
  return [yes, no];
}
