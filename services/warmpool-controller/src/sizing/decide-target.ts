import type { SandboxWarmPoolSpec, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { computeRate } from '@sandlot/std';
import type { Rate } from '@sandlot/std';
import { addDemand, computeDemand, findMsUntilLower } from './demand.ts';
import type { Autoscaling, Demand } from './demand.ts';
import { findNextEdgeMs } from './schedule.ts';
import type { Window } from './schedule.ts';

const DEFAULT_REPLICAS = 1;
const DEFAULT_SCALE_DOWN_SECONDS = 300;

/** The claim rate falls by a factor of e in this time (docs/reference/sandbox-warm-pool.md#autoscaling). */
export const CLAIM_RATE_WINDOW_MS = 60_000;

/** How often to recompute what depends on a fading claim rate; an adoption enqueues the pool at once. */
export const CLAIM_RATE_RECHECK_MS = 15_000;

/** What decides how many members a pool wants. */
export interface TargetInput {
  readonly spec: SandboxWarmPoolSpec;
  readonly windows: readonly Window[];
  readonly inUse: number;
  readonly claimRate: Rate | undefined;
  /** Undefined on this process's first pass over the pool. */
  readonly demands: readonly Demand[] | undefined;
  readonly lastStatus: SandboxWarmPoolStatus | undefined;
  readonly nowMs: number;
  readonly monotonicMs: number;
}

export interface Target {
  readonly replicas: number;
  /** Name of the schedule that decides. */
  readonly schedule?: string | undefined;
  /** What decided, as the Event says it. */
  readonly source: string;
  /** The input `demands` of the next pass. */
  readonly demands: readonly Demand[];
  /** When time alone may change the target. */
  readonly recheckAfterMs?: number | undefined;
}

/** An open schedule, else autoscaling, else `spec.replicas` (docs/reference/sandbox-warm-pool.md#scaling). */
export function decideTarget(input: TargetInput): Target {
  const { spec, windows, nowMs } = input;
  const auto = spec.autoscaling === undefined ? NOT_AUTOSCALED : autoscale(input, spec.autoscaling);
  const edgeMs = findNextEdgeMs(windows);
  const recheckAfterMs = findEarliest([edgeMs === undefined ? undefined : edgeMs - nowMs, auto.recheckAfterMs]);
  const scheduled = findLargestOpen(windows, { wanted: auto.wanted, autoscaling: spec.autoscaling });
  if (scheduled !== undefined) {
    const { replicas, schedule } = scheduled;
    return { replicas, schedule, source: `schedule "${schedule}"`, demands: auto.demands, recheckAfterMs };
  }
  if (spec.autoscaling === undefined || auto.wanted === undefined) {
    return { replicas: spec.replicas ?? DEFAULT_REPLICAS, source: 'spec.replicas', demands: [], recheckAfterMs };
  }
  const replicas = clamp(auto.wanted, listBounds(undefined, spec.autoscaling));
  return { replicas, source: 'autoscaling', demands: auto.demands, recheckAfterMs };
}

interface Autoscaled {
  /** Before the bounds of the spec. */
  readonly wanted: number | undefined;
  readonly demands: readonly Demand[];
  readonly recheckAfterMs: number | undefined;
}

const NOT_AUTOSCALED: Autoscaled = { wanted: undefined, demands: [], recheckAfterMs: undefined };

function autoscale(input: TargetInput, autoscaling: Autoscaling): Autoscaled {
  const { inUse, claimRate, monotonicMs } = input;
  const claimsPerSecond = computeRate(claimRate, monotonicMs, CLAIM_RATE_WINDOW_MS);
  const windowMs = (autoscaling.scaleDownDelaySeconds ?? DEFAULT_SCALE_DOWN_SECONDS) * 1_000;
  const present = { atMs: monotonicMs, replicas: computeDemand({ inUse, claimsPerSecond }, autoscaling) };
  const demands = addDemand(input.demands ?? parseDemands(input), present, windowMs);
  const fading = (autoscaling.coverSeconds ?? 0) > 0 && present.replicas > 0 ? CLAIM_RATE_RECHECK_MS : undefined;
  const recheckAfterMs = findEarliest([findMsUntilLower(demands, monotonicMs, windowMs), fading]);
  return { wanted: demands[0]?.replicas ?? present.replicas, demands, recheckAfterMs };
}

/** After a restart the target in the status counts as the demand until now: a restart never shrinks a pool. */
function parseDemands({ lastStatus, monotonicMs }: TargetInput): readonly Demand[] {
  const { desiredReplicas, activeSchedule } = lastStatus ?? {};
  if (desiredReplicas === undefined || activeSchedule !== undefined) return [];
  return [{ atMs: monotonicMs, replicas: desiredReplicas }];
}

interface Scheduled {
  readonly replicas: number;
  readonly schedule: string;
}

interface AutoscalingInput {
  /** Members that autoscaling wants, before bounds; undefined without autoscaling. */
  readonly wanted: number | undefined;
  readonly autoscaling: Autoscaling | undefined;
}

/** Of several open windows the one that wants most; the first of equals. */
function findLargestOpen(windows: readonly Window[], auto: AutoscalingInput): Scheduled | undefined {
  let best: Scheduled | undefined;
  for (const { schedule, open } of windows) {
    if (!open) continue;
    const replicas = schedule.replicas ?? clampToSchedule(schedule, auto);
    if (best === undefined || replicas > best.replicas) best = { replicas, schedule: schedule.name };
  }
  return best;
}

interface Limits {
  readonly minReplicas?: number | undefined;
  readonly maxReplicas?: number | undefined;
}

/** A window with bounds moves those of autoscaling. Without autoscaling its minimum is the target, else its maximum. */
function clampToSchedule(schedule: Limits, { wanted, autoscaling }: AutoscalingInput): number {
  if (wanted === undefined) return schedule.minReplicas ?? schedule.maxReplicas ?? 0;
  return clamp(wanted, listBounds(schedule, autoscaling));
}

/** Where a window gives one bound, the other bound of autoscaling moves as far as needed. */
function listBounds(schedule: Limits = {}, autoscaling: Limits = {}): readonly [number, number] {
  const { minReplicas: min = 0, maxReplicas: max = Infinity } = autoscaling;
  const { minReplicas = Math.min(min, schedule.maxReplicas ?? min) } = schedule;
  const { maxReplicas = Math.max(max, minReplicas) } = schedule;
  return [minReplicas, maxReplicas];
}

function clamp(value: number, [min, max]: readonly [number, number]): number {
  return Math.max(min, Math.min(max, value));
}

function findEarliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.max(0, Math.min(...known));
}
