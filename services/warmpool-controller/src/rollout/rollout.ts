import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { amountOf } from './amount.ts';
import { youngForMs } from './max-age.ts';
import type { Member } from '../plan/snapshot.ts';

const DEFAULT_MAX_UNAVAILABLE = '25%';
const DEFAULT_MAX_SURGE = 0;

export interface Allowance {
  /** Ready members that may be missing below target. */
  readonly maxUnavailable: number;
  /** Members that may exist above target. */
  readonly maxSurge: number;
}

/** What may be missing and superfluous while members are replaced; where rounding allows neither, one may be missing. */
export function allowanceOf({ updateStrategy }: SandboxWarmPoolSpec, target: number): Allowance {
  const { maxUnavailable = DEFAULT_MAX_UNAVAILABLE, maxSurge = DEFAULT_MAX_SURGE } =
    updateStrategy?.rollingUpdate ?? {};
  const allowed = {
    maxUnavailable: amountOf(maxUnavailable, target, 'down'),
    maxSurge: amountOf(maxSurge, target, 'up'),
  };
  return allowed.maxUnavailable === 0 && allowed.maxSurge === 0 ? { maxUnavailable: 1, maxSurge: 0 } : allowed;
}

/** `namespace/name` is no order of age; names break ties between members of one second. */
export function olderFirst({ sandbox: a }: Member, { sandbox: b }: Member): number {
  const age = ({ metadata }: Member['sandbox']): string => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
  return age(a) < age(b) ? -1 : 1;
}

export interface ReplacementInput {
  readonly spec: SandboxWarmPoolSpec;
  readonly target: number;
  /** Those that stay otherwise. */
  readonly members: readonly Member[];
  readonly nowMs: number;
}

/**
 * Ready members to be replaced now, stale before too old, oldest first, as many as may be missing (API contract, rollout
 * and recycle).
 */
export function replacedNow({ spec, target, members, nowMs }: ReplacementInput): readonly Member[] {
  const ready = members.filter(({ sandbox }) => isReady(sandbox));
  const spare = ready.length - (target - allowanceOf(spec, target).maxUnavailable);
  if (spare <= 0) return [];
  const stale = spec.updateStrategy?.type === 'RollingUpdate' ? ready.filter(({ current }) => !current) : [];
  const old = ready.filter((member) => !stale.includes(member) && isTooOld(member, spec, nowMs));
  return [...stale.sort(olderFirst), ...old.sort(olderFirst)].slice(0, spare);
}

function isTooOld({ sandbox }: Member, { recycle }: SandboxWarmPoolSpec, nowMs: number): boolean {
  return (youngForMs(sandbox, recycle, nowMs) ?? 1) <= 0;
}

/** Ready members that a rolling update must not be short of; others have no such bound. */
export function readyFloor(spec: SandboxWarmPoolSpec, target: number): number {
  return spec.updateStrategy?.type === 'RollingUpdate' ? target - allowanceOf(spec, target).maxUnavailable : 0;
}

/** Members above target that a rolling update may have: as many as it has stale ones to replace, within maxSurge. */
export function surgeOf(spec: SandboxWarmPoolSpec, target: number, members: readonly Member[]): number {
  if (spec.updateStrategy?.type !== 'RollingUpdate') return 0;
  const stale = members.filter(({ current }) => !current).length;
  return Math.min(stale, allowanceOf(spec, target).maxSurge);
}
