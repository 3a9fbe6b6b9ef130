import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import type { Member } from '../plan/snapshot.ts';
import { getAllowance } from './allowance.ts';
import { findMsUntilTooOld } from './max-age.ts';

export interface ReplacementInput {
  readonly spec: SandboxWarmPoolSpec;
  readonly target: number;
  /** Members that no other rule removes. */
  readonly members: readonly Member[];
  /** Wall clock. */
  readonly nowMs: number;
}

/**
 * The Ready members to replace now: stale before too old, oldest first, never more than `maxUnavailable` below target
 * (docs/reference/sandbox-warm-pool.md#staleness-and-rollout and docs/reference/sandbox-warm-pool.md#recycle).
 */
export function decideReplacements({ spec, target, members, nowMs }: ReplacementInput): readonly Member[] {
  const ready = members.filter(({ sandbox }) => isReady(sandbox));
  const spare = ready.length - (target - getAllowance(spec, target).maxUnavailable);
  if (spare <= 0) return [];
  const stale = spec.updateStrategy?.type === 'RollingUpdate' ? ready.filter(({ current }) => !current) : [];
  const old = ready.filter((member) => !stale.includes(member) && isTooOld(member, spec, nowMs));
  return [...stale.sort(byAge), ...old.sort(byAge)].slice(0, spare);
}

function isTooOld({ sandbox }: Member, { recycle }: SandboxWarmPoolSpec, nowMs: number): boolean {
  return (findMsUntilTooOld(sandbox, recycle, nowMs) ?? 1) <= 0;
}

/** Sort order; the name decides between members created in the same second. */
export function byAge({ sandbox: a }: Member, { sandbox: b }: Member): number {
  const age = ({ metadata }: Member['sandbox']): string => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
  return age(a) < age(b) ? -1 : 1;
}
