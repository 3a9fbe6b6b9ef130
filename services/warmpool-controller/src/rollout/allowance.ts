import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import type { Member } from '../plan/snapshot.ts';

const DEFAULT_MAX_UNAVAILABLE = '25%';
const DEFAULT_MAX_SURGE = 0;

export interface Allowance {
  /** Ready members that may be missing below target. */
  readonly maxUnavailable: number;
  /** Members that may exist above target. */
  readonly maxSurge: number;
}

/** The bounds of a rolling update at this target; where rounding makes both zero, one member may be missing. */
export function getAllowance({ updateStrategy }: SandboxWarmPoolSpec, target: number): Allowance {
  const { maxUnavailable = DEFAULT_MAX_UNAVAILABLE, maxSurge = DEFAULT_MAX_SURGE } =
    updateStrategy?.rollingUpdate ?? {};
  const allowed = {
    maxUnavailable: countOf(maxUnavailable, target, Math.floor),
    maxSurge: countOf(maxSurge, target, Math.ceil),
  };
  return allowed.maxUnavailable === 0 && allowed.maxSurge === 0 ? { maxUnavailable: 1, maxSurge: 0 } : allowed;
}

/** A number as it is, or a percentage such as `25%` of `whole` (docs/reference/sandbox-warm-pool.md#spec). */
function countOf(value: number | string, whole: number, round: (share: number) => number): number {
  return typeof value === 'number' ? value : round((whole * Number.parseInt(value, 10)) / 100);
}

/** Ready members that scaling down leaves to a rolling update; other strategies have no such bound. */
export function countMinReadyMembers(spec: SandboxWarmPoolSpec, target: number): number {
  return spec.updateStrategy?.type === 'RollingUpdate' ? target - getAllowance(spec, target).maxUnavailable : 0;
}

/** Members above target that a rolling update wants now: one for each stale member, at most `maxSurge`. */
export function getSurge(spec: SandboxWarmPoolSpec, target: number, members: readonly Member[]): number {
  if (spec.updateStrategy?.type !== 'RollingUpdate') return 0;
  const stale = members.filter(({ current }) => !current).length;
  return Math.min(stale, getAllowance(spec, target).maxSurge);
}
