import type { SandboxWarmPoolSpec } from '@sandlot/api-types';

export type Autoscaling = NonNullable<SandboxWarmPoolSpec['autoscaling']>;

/** Members that autoscaling wanted from `atMs` (monotonic) on, until the next demand; the last one is the present one. */
export interface Demand {
  readonly atMs: number;
  readonly replicas: number;
}

export interface Load {
  /** Live Sandboxes that claims adopted from the pool. */
  readonly inUse: number;
  readonly claimsPerSecond: number;
}

const DEFAULT_FREE_PERCENT = 20;

/** A claim rate that fades never reaches zero; less than this share of a member counts as none. */
const NEGLIGIBLE = 0.05;

/**
 * Members that keep the free share and cover the claims of the next seconds, before the bounds of the spec
 * (docs/reference/sandbox-warm-pool.md#autoscaling).
 */
export function computeDemand({ inUse, claimsPerSecond }: Load, autoscaling: Autoscaling): number {
  const percent = autoscaling.targetFreePercent ?? DEFAULT_FREE_PERCENT;
  const share = Math.ceil((inUse * percent) / (100 - percent));
  const cover = claimsPerSecond * (autoscaling.coverSeconds ?? 0);
  return Math.max(share, cover < NEGLIGIBLE ? 0 : Math.ceil(cover));
}

/**
 * The demands that may still hold the target after `next`, the highest first. A demand counts until `windowMs` after a
 * lower one replaced it; a demand below a later one never counts again.
 */
export function addDemand(held: readonly Demand[], next: Demand, windowMs: number): readonly Demand[] {
  const last = held.at(-1);
  const alive = held.filter((demand) => demand === last || next.atMs - demand.atMs < windowMs);
  if (last?.replicas === next.replicas) return alive;
  const higher = alive
    .map((demand) => (demand === last ? { ...demand, atMs: next.atMs } : demand))
    .filter(({ replicas, atMs }) => replicas > next.replicas && next.atMs - atMs < windowMs);
  return [...higher, next];
}

/** Milliseconds until the highest demand expires; undefined while it is the present one. */
export function findMsUntilLower(demands: readonly Demand[], nowMs: number, windowMs: number): number | undefined {
  const [highest, next] = demands;
  return highest === undefined || next === undefined ? undefined : Math.max(0, highest.atMs + windowMs - nowMs);
}
