import { findCondition, mergePatchOf, warmPoolConditions } from '@sandlot/api-types';
import type { SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { Plan, Step } from './plan.ts';
import { isFinished, isReady } from './readiness.ts';
import type { Member, PoolSnapshot } from './snapshot.ts';
import { poolStatus } from './status.ts';

const DEFAULT_REPLICAS = 1;
const DEFAULT_MAX_IN_FLIGHT = 300;

/** What one pass over a pool does: bring the number of members to the target, say how things stand, tell who listens. */
export function decide(snapshot: PoolSnapshot): Plan {
  const { pool } = snapshot;
  if (pool.metadata.deletionTimestamp !== undefined) return [];
  const target = pool.spec.replicas ?? DEFAULT_REPLICAS;
  const members = snapshot.members.filter(({ sandbox }) => !snapshot.unseenDeletes.has(sandbox.metadata.uid ?? ''));
  const spent = members.filter((member) => isSpent(member, snapshot));
  const useful = members.filter((member) => !spent.includes(member));
  const leaving = snapshot.members.length - members.length + snapshot.terminating;
  const status = poolStatus(snapshot, target);
  return [
    ...scaleUp(snapshot, target - useful.length - spent.length - leaving),
    ...remove([...spent, ...victims(useful, useful.length - target)]),
    ...writeStatus(snapshot, status),
    ...announcements(snapshot, status, target),
  ];
}

/** A member whose pod has ended serves nobody; under Recreate neither does a stale one, if there is a template to follow. */
function isSpent({ sandbox, current }: Member, { pool, template }: PoolSnapshot): boolean {
  const recreate = pool.spec.updateStrategy?.type === 'Recreate' && template !== undefined;
  return isFinished(sandbox) || (recreate && !current);
}

/** Members on their way out and creates not yet seen take places too: a lagging cache never makes a pool too large. */
function scaleUp(
  { pool, template, terminating, unseenCreates, members }: PoolSnapshot,
  missing: number,
): readonly Step[] {
  if (template === undefined) return [];
  const pending = members.filter(({ sandbox }) => !isReady(sandbox)).length + unseenCreates;
  const inFlight = (pool.spec.refill?.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT) - pending;
  const count = Math.min(missing - unseenCreates, inFlight);
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

function writeStatus({ pool }: PoolSnapshot, status: SandboxWarmPoolStatus): readonly Step[] {
  return mergePatchOf(pool.status, status) === undefined ? [] : [{ kind: 'writeStatus', status }];
}

/** Told on the transition, which the status as it stands and as it will be shows; never repeated while it lasts. */
function announcements({ pool }: PoolSnapshot, status: SandboxWarmPoolStatus, desired: number): readonly Step[] {
  const available = (of: SandboxWarmPoolStatus | undefined): string | undefined =>
    findCondition(of?.conditions, warmPoolConditions.available)?.status;
  const ready = status.readyReplicas ?? 0;
  const wasFull = (pool.status?.readyReplicas ?? 0) >= (pool.status?.desiredReplicas ?? Infinity);
  const depleted = available(pool.status) === 'True' && available(status) === 'False';
  const full = desired > 0 && ready >= desired && !wasFull;
  return [
    ...(depleted ? [{ kind: 'announce', event: 'pool.depleted', desired, ready } as const] : []),
    ...(full ? [{ kind: 'announce', event: 'pool.ready', desired, ready } as const] : []),
  ];
}
