import type { SandboxWarmPoolSpec } from '@sandlot/api-types';

export type Autoscaling = NonNullable<SandboxWarmPoolSpec['autoscaling']>;

/** Members wanted from `atMs` (monotonic) on: of the newest one until now, of the others until the next one's time. */
export interface Demand {
  readonly atMs: number;
  readonly replicas: number;
}

export interface Load {
  /** Live Sandboxes that claims took from the pool. */
  readonly inUse: number;
  readonly claimsPerSecond: number;
}

const DEFAULT_FREE_PERCENT = 20;

/** Less than this much of a member is the echo of claims long past. */
const NEGLIGIBLE = 0.05;

/** Members that keep the free share and cover the claims of the next while (API contract, autoscaling target). */
export function demandOf({ inUse, claimsPerSecond }: Load, autoscaling: Autoscaling): number {
  const percent = autoscaling.targetFreePercent ?? DEFAULT_FREE_PERCENT;
  const share = Math.ceil((inUse * percent) / (100 - percent));
  const cover = claimsPerSecond * (autoscaling.coverSeconds ?? 0);
  return Math.max(share, cover < NEGLIGIBLE ? 0 : Math.ceil(cover));
}

/**
 * The demands that may still be held after `next`: later ones only count while they are lower, and one counts for
 * `windowMs` after it has ended. The first is the highest.
 */
export function withDemand(held: readonly Demand[], next: Demand, windowMs: number): readonly Demand[] {
  const last = held.at(-1);
  const alive = held.filter((demand) => demand === last || next.atMs - demand.atMs < windowMs);
  if (last?.replicas === next.replicas) return alive;
  const higher = alive
    .map((demand) => (demand === last ? { ...demand, atMs: next.atMs } : demand))
    .filter(({ replicas, atMs }) => replicas > next.replicas && next.atMs - atMs < windowMs);
  return [...higher, next];
}

/** Milliseconds until the highest demand is let go; undefined while it is the present one. */
export function heldForMs(demands: readonly Demand[], nowMs: number, windowMs: number): number | undefined {
  const [highest, next] = demands;
  return highest === undefined || next === undefined ? undefined : Math.max(0, highest.atMs + windowMs - nowMs);
}
