import { findCondition, mergePatchOf, warmPoolConditions } from '@sandlot/api-types';
import type { SandboxWarmPoolStatus } from '@sandlot/api-types';
import { isFinished, isReady } from '@sandlot/blueprint';
import type { Announcement, Plan, Step } from './plan.ts';
import type { Member, PoolSnapshot } from './snapshot.ts';
import { poolStatus } from './status.ts';

const DEFAULT_REPLICAS = 1;
const DEFAULT_MAX_IN_FLIGHT = 300;

/** A create or delete that the watch never shows is forgotten after this long (API contract, scaling). */
export const UNSEEN_LIMIT_MS = 30_000;

/** What one pass over a pool does: say how things stand, and bring the number of members to the target. */
export function decide(snapshot: PoolSnapshot): Plan {
  const { pool, members, unseenDeletes } = snapshot;
  if (pool.metadata.deletionTimestamp !== undefined) return [];
  const target = pool.spec.replicas ?? DEFAULT_REPLICAS;
  const staying = members.filter(({ sandbox }) => !unseenDeletes.has(sandbox.metadata.uid ?? ''));
  const spent = staying.filter((member) => isSpent(member, snapshot));
  const useful = staying.filter((member) => !spent.includes(member));
  const status = poolStatus(snapshot, target);
  const news = announcements(snapshot.lastStatus, status);
  const changes = [...scaleUp(snapshot, target), ...remove([...spent, ...victims(useful, useful.length - target)])];
  return [
    ...news.map((announcement): Step => ({ kind: 'announce', ...announcement })),
    ...changes,
    ...writeStatus(snapshot, status, news.length > 0),
    ...lookAgain(snapshot, changes),
  ];
}

/** A member whose pod has ended serves nobody; under Recreate neither does a stale one, if there is a template to follow. */
function isSpent({ sandbox, current }: Member, { pool, template }: PoolSnapshot): boolean {
  const recreate = pool.spec.updateStrategy?.type === 'Recreate' && template !== undefined;
  return isFinished(sandbox) || (recreate && !current);
}

/** Members on their way out and creates not yet seen take places too: a lagging cache never makes a pool too large. */
function scaleUp(
  { pool, template, members, terminating, unseenCreates }: PoolSnapshot,
  target: number,
): readonly Step[] {
  if (template === undefined) return [];
  const missing = target - members.length - terminating - unseenCreates;
  const starting = members.filter(({ sandbox }) => !isReady(sandbox)).length + unseenCreates;
  const room = (pool.spec.refill?.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT) - starting;
  const count = Math.min(missing, room);
  return count > 0 ? [{ kind: 'create', count, template }] : [];
}

/** Stale before current, not Ready before Ready, newest before oldest (API contract, scaling). */
function victims(members: readonly Member[], surplus: number): readonly Member[] {
  if (surplus <= 0) return [];
  const rank = ({ sandbox, current }: Member): number => (current ? 2 : 0) + (isReady(sandbox) ? 1 : 0);
  const age = ({ sandbox: { metadata } }: Member): string =>
    `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
  return [...members].sort((a, b) => rank(a) - rank(b) || (age(a) < age(b) ? 1 : -1)).slice(0, surplus);
}

function remove(members: readonly Member[]): readonly Step[] {
  return members.length === 0 ? [] : [{ kind: 'delete', members: members.map(({ sandbox }) => sandbox) }];
}

function writeStatus({ pool }: PoolSnapshot, status: SandboxWarmPoolStatus, urgent: boolean): readonly Step[] {
  return mergePatchOf(pool.status, status) === undefined ? [] : [{ kind: 'writeStatus', status, urgent }];
}

/** What the watch should have shown by then may never have happened, and no event will tell. */
function lookAgain({ unseenCreates, unseenDeletes }: PoolSnapshot, changes: readonly Step[]): readonly Step[] {
  const settled = unseenCreates === 0 && unseenDeletes.size === 0 && changes.length === 0;
  return settled ? [] : [{ kind: 'wait', ms: UNSEEN_LIMIT_MS, reason: 'not all that was asked for is seen yet' }];
}

/** Told on the transition from the status last written; never repeated while it lasts. */
function announcements(
  before: SandboxWarmPoolStatus | undefined,
  after: SandboxWarmPoolStatus,
): readonly Announcement[] {
  const { readyReplicas: ready = 0, desiredReplicas: desired = 0 } = after;
  if (isAvailable(before) && !isAvailable(after)) return [{ event: 'pool.depleted', desired, ready }];
  return desired > 0 && isFull(after) && !isFull(before) ? [{ event: 'pool.ready', desired, ready }] : [];
}

function isAvailable(status: SandboxWarmPoolStatus | undefined): boolean {
  return findCondition(status?.conditions, warmPoolConditions.available)?.status === 'True';
}

function isFull(status: SandboxWarmPoolStatus | undefined): boolean {
  return status !== undefined && (status.readyReplicas ?? 0) >= (status.desiredReplicas ?? 0);
}
