import type { SandboxWarmPoolSpec, SandboxWarmPoolStatus } from '@sandlot/api-types';
import { demandOf, heldForMs, withDemand } from './autoscale.ts';
import type { Autoscaling, Demand } from './autoscale.ts';
import { rateAt } from '@sandlot/std';
import type { Rate } from '@sandlot/std';
import { nextEdgeMs } from './schedule.ts';
import type { Window } from './schedule.ts';

const DEFAULT_REPLICAS = 1;
const DEFAULT_SCALE_DOWN_SECONDS = 300;

/** The claim rate forgets by a factor of e in this time (API contract, autoscaling). */
export const CLAIM_RATE_WINDOW_MS = 60_000;

/** A fading claim rate is looked at this often; adoptions bring a pool back at once. */
export const RATE_LOOK_MS = 15_000;

/** What decides how many members a pool wants. */
export interface TargetInput {
  readonly spec: SandboxWarmPoolSpec;
  readonly windows: readonly Window[];
  readonly inUse: number;
  readonly claimRate: Rate | undefined;
  /** Undefined when this process has not looked at the pool yet. */
  readonly demands: readonly Demand[] | undefined;
  readonly lastStatus: SandboxWarmPoolStatus | undefined;
  readonly nowMs: number;
  readonly monotonicMs: number;
}

export interface Target {
  readonly replicas: number;
  /** Name of the schedule that decides. */
  readonly schedule?: string | undefined;
  /** For people: what decided. */
  readonly source: string;
  /** To be remembered until the next look. */
  readonly demands: readonly Demand[];
  /** When time alone may change the target. */
  readonly lookAfterMs?: number | undefined;
}

/** Open schedule, else autoscaling, else `spec.replicas` (API contract, warm pools). */
export function targetOf(input: TargetInput): Target {
  const { spec, windows, nowMs } = input;
  const auto = spec.autoscaling === undefined ? NO_DEMAND : autoscaled(input, spec.autoscaling);
  const edgeMs = nextEdgeMs(windows);
  const lookAfterMs = earliest([edgeMs === undefined ? undefined : edgeMs - nowMs, auto.lookAfterMs]);
  const opened = largest(windows, { wanted: auto.wanted, autoscaling: spec.autoscaling });
  if (opened !== undefined) {
    const { replicas, schedule } = opened;
    return { replicas, schedule, source: `schedule "${schedule}"`, demands: auto.demands, lookAfterMs };
  }
  if (spec.autoscaling === undefined || auto.wanted === undefined) {
    return { replicas: spec.replicas ?? DEFAULT_REPLICAS, source: 'spec.replicas', demands: [], lookAfterMs };
  }
  const replicas = clamp(auto.wanted, boundsOf(undefined, spec.autoscaling));
  return { replicas, source: 'autoscaling', demands: auto.demands, lookAfterMs };
}

interface Autoscaled {
  /** Before bounds. */
  readonly wanted: number | undefined;
  readonly demands: readonly Demand[];
  readonly lookAfterMs: number | undefined;
}

const NO_DEMAND: Autoscaled = { wanted: undefined, demands: [], lookAfterMs: undefined };

function autoscaled(input: TargetInput, autoscaling: Autoscaling): Autoscaled {
  const { inUse, claimRate, monotonicMs } = input;
  const claimsPerSecond = rateAt(claimRate, monotonicMs, CLAIM_RATE_WINDOW_MS);
  const windowMs = (autoscaling.scaleDownDelaySeconds ?? DEFAULT_SCALE_DOWN_SECONDS) * 1_000;
  const present = { atMs: monotonicMs, replicas: demandOf({ inUse, claimsPerSecond }, autoscaling) };
  const demands = withDemand(input.demands ?? inherited(input), present, windowMs);
  const fading = (autoscaling.coverSeconds ?? 0) > 0 && present.replicas > 0 ? RATE_LOOK_MS : undefined;
  const lookAfterMs = earliest([heldForMs(demands, monotonicMs, windowMs), fading]);
  return { wanted: demands[0]?.replicas ?? present.replicas, demands, lookAfterMs };
}

/** After a restart the last target counts as wanted until now, so that a pool never shrinks because its keeper was new. */
function inherited({ lastStatus, monotonicMs }: TargetInput): readonly Demand[] {
  const { desiredReplicas, activeSchedule } = lastStatus ?? {};
  if (desiredReplicas === undefined || activeSchedule !== undefined) return [];
  return [{ atMs: monotonicMs, replicas: desiredReplicas }];
}

interface Opened {
  readonly replicas: number;
  readonly schedule: string;
}

interface Demanded {
  readonly wanted: number | undefined;
  readonly autoscaling: Autoscaling | undefined;
}

/** Of several open windows the one that wants most; the first of equals. */
function largest(windows: readonly Window[], demanded: Demanded): Opened | undefined {
  let best: Opened | undefined;
  for (const { schedule, open } of windows) {
    if (!open) continue;
    const replicas = schedule.replicas ?? bounded(schedule, demanded);
    if (best === undefined || replicas > best.replicas) best = { replicas, schedule: schedule.name };
  }
  return best;
}

interface Limits {
  readonly minReplicas?: number | undefined;
  readonly maxReplicas?: number | undefined;
}

/** A window with bounds moves those of autoscaling; without autoscaling its floor, else its ceiling, is the target. */
function bounded(schedule: Limits, { wanted, autoscaling }: Demanded): number {
  if (wanted === undefined) return schedule.minReplicas ?? schedule.maxReplicas ?? 0;
  return clamp(wanted, boundsOf(schedule, autoscaling));
}

/** Where a window gives one bound, the other one of autoscaling gives way to it. */
function boundsOf(schedule: Limits = {}, autoscaling: Limits = {}): readonly [number, number] {
  const { minReplicas: min = 0, maxReplicas: max = Infinity } = autoscaling;
  const { minReplicas = Math.min(min, schedule.maxReplicas ?? min) } = schedule;
  const { maxReplicas = Math.max(max, minReplicas) } = schedule;
  return [minReplicas, maxReplicas];
}

function clamp(value: number, [min, max]: readonly [number, number]): number {
  return Math.max(min, Math.min(max, value));
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.max(0, Math.min(...known));
}
