import type { Sandbox } from '@sandlot/api-types';
import { isFinished, isReady, lacksDaemon } from '@sandlot/blueprint';
import type { Member, PoolSnapshot } from '../plan/snapshot.ts';
import { countMinReadyMembers, getSurge } from '../rollout/allowance.ts';
import { decideReplacements, byAge } from '../rollout/decide-replacements.ts';
import { isStuck, needsReplacement } from './stuck.ts';

/** What brings a pool to its target. */
export interface MemberChanges {
  /** Members to delete now. */
  readonly remove: readonly Member[];
  /** Strays to own: current ones. */
  readonly takeOver: readonly Member[];
  /** Strays to delete: stale ones. */
  readonly discard: readonly Member[];
  /** Members to create, before the limits of a refill; negative when there are too many. */
  readonly missing: number;
}

/** Which members go and how many come (docs/reference/sandbox-warm-pool.md#scaling). Claimed Sandboxes do not matter here. */
export function decideMembers(snapshot: PoolSnapshot, target: number): MemberChanges {
  const { pool, template, members, strays, terminating, unseenCreates, unseenDeletes } = snapshot;
  const staying = members.filter(({ sandbox }) => !unseenDeletes.has(sandbox.metadata.uid ?? ''));
  const [useless, useful] = partition(staying, (member) => isUseless(member, snapshot));
  const surge = template === undefined ? 0 : getSurge(pool.spec, target, useful);
  const surplus = selectSurplus(useful, useful.length - target - surge, countMinReadyMembers(pool.spec, target));
  const left = useful.filter((member) => !surplus.includes(member));
  const replaced = canReplace(snapshot)
    ? decideReplacements({ spec: pool.spec, target, members: left, nowMs: snapshot.nowMs })
    : [];
  const takeOver = template === undefined ? [] : strays.filter(({ current }) => current);
  return {
    remove: [...useless, ...surplus, ...replaced],
    takeOver,
    discard: template === undefined ? [] : strays.filter(({ current }) => !current),
    // Terminating members and unseen creates count too: a cache that lags never makes a pool too large.
    missing: target + surge - members.length - takeOver.length - terminating - unseenCreates,
  };
}

/**
 * A pool that cannot create members keeps those it has. Once the back-off is over it replaces again: a full pool has no
 * other way to find out that creations succeed again.
 */
function canReplace(snapshot: PoolSnapshot): boolean {
  const { monotonicMs, history } = snapshot;
  return hasSource(snapshot) && (history.backoff === undefined || history.backoff.untilMs <= monotonicMs);
}

/** Whether the pool has something to make members from now: a template with its network rules in place. */
function hasSource({ template, networkGap }: PoolSnapshot): boolean {
  return template !== undefined && networkGap === undefined;
}

/**
 * No claim can adopt a member whose Pod ended or that is stuck. With a template to create from now, every strategy gives up
 * members that lack the template's daemon, Recreate every stale member, and RollingUpdate the stale members that are not Ready.
 */
function isUseless(member: Member, snapshot: PoolSnapshot): boolean {
  const { pool, nowMs } = snapshot;
  const { sandbox, current } = member;
  const canCreate = hasSource(snapshot);
  const { stuckMember } = pool.spec;
  if (isFinished(sandbox)) return true;
  if (isStuck(sandbox, stuckMember, nowMs) && needsReplacement(member, stuckMember, canCreate)) return true;
  return !current && canCreate && isGivenUp(sandbox, snapshot);
}

/** Whether a stale member goes before the strategy replaces it. */
function isGivenUp(sandbox: Sandbox, { pool, template }: PoolSnapshot): boolean {
  const { updateStrategy } = pool.spec;
  if (template !== undefined && lacksDaemon(sandbox, template)) return true;
  return updateStrategy?.type === 'Recreate' || (updateStrategy?.type === 'RollingUpdate' && !isReady(sandbox));
}

/** Stale before current, not Ready before Ready, newest before oldest; at least `minReady` Ready members stay. */
function selectSurplus(members: readonly Member[], surplus: number, minReady: number): readonly Member[] {
  if (surplus <= 0) return [];
  const rank = ({ sandbox, current }: Member): number => (current ? 2 : 0) + (isReady(sandbox) ? 1 : 0);
  const sorted = [...members].sort((a, b) => rank(a) - rank(b) || byAge(b, a));
  let spare = members.filter(({ sandbox }) => isReady(sandbox)).length - minReady;
  return sorted.filter(({ sandbox }) => !isReady(sandbox) || spare-- > 0).slice(0, surplus);
}

function partition<T>(list: readonly T[], test: (entry: T) => boolean): readonly [readonly T[], readonly T[]] {
  const [yes, no]: [T[], T[]] = [[], []];
  for (const entry of list) (test(entry) ? yes : no).push(entry);
  return [yes, no];
}
