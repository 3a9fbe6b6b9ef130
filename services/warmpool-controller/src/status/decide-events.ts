import { eventReasons, findCondition, warmPoolConditions } from '@sandlot/api-types';
import type { SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { PoolEvent } from '../plan/plan.ts';
import type { PoolSnapshot } from '../plan/snapshot.ts';
import { isNotProgressing, isRollingOut, wasRollingOut } from './decide-progressing.ts';

/** The change from the status last written to the one that this pass writes. */
export interface StatusTransition {
  readonly snapshot: PoolSnapshot;
  readonly before: SandboxWarmPoolStatus | undefined;
  readonly after: SandboxWarmPoolStatus;
  /** What decided the target, as the Event says it. */
  readonly source: string;
}

/** One Event for each transition of the status; a state that lasts has no further Event. */
export function decideEvents(transition: StatusTransition): readonly PoolEvent[] {
  return [
    ...listRolloutEvents(transition),
    ...listProgressEvents(transition),
    ...targetEvents(transition),
    ...scheduleEvents(transition),
  ];
}

/** Stale members show that a rollout has started, also while another finding hides it in Progressing. */
function listRolloutEvents({ snapshot, before, after }: StatusTransition): readonly PoolEvent[] {
  const { pool, template, templateHash = '' } = snapshot;
  if (before === undefined || template === undefined || !canReplaceStale(pool)) return [];
  const was = wasRollingOut(before) || hasStale(before);
  const is = isRollingOut({ ...snapshot, lastStatus: before }, { target: after.desiredReplicas ?? 0 });
  if (was === is) return [];
  if (!is) {
    const message = `All members are of blueprint ${templateHash}`;
    return [{ type: 'Normal', reason: eventReasons.rolloutFinished, message }];
  }
  const message = `Members of an earlier template are being replaced by those of blueprint ${templateHash}`;
  return [{ type: 'Normal', reason: eventReasons.rolloutStarted, message }];
}

function canReplaceStale({ spec }: SandboxWarmPool): boolean {
  return spec.updateStrategy !== undefined && spec.updateStrategy.type !== 'OnReplenish';
}

function hasStale({ updatedReplicas = 0, replicas = 0 }: SandboxWarmPoolStatus): boolean {
  return updatedReplicas < replicas;
}

function listProgressEvents({ before, after }: StatusTransition): readonly PoolEvent[] {
  const [was, is] = [isNotProgressing(before), isNotProgressing(after)];
  if (is && !was) {
    const message = findCondition(after.conditions, warmPoolConditions.progressing)?.message ?? '';
    return [{ type: 'Warning', reason: eventReasons.warmPoolNotProgressing, message }];
  }
  if (is || !was) return [];
  return [{ type: 'Normal', reason: eventReasons.warmPoolProgressing, message: 'Warm pool is progressing again' }];
}

function targetEvents({ before, after, source }: StatusTransition): readonly PoolEvent[] {
  const [was, is] = [before?.desiredReplicas, after.desiredReplicas];
  if (was === undefined || was === is) return [];
  const message = `Target changed from ${was} to ${is ?? 0} (${source})`;
  return [{ type: 'Normal', reason: eventReasons.targetChanged, message }];
}

/** Warns of a schedule that can never open on the first pass over the spec that has it. */
function scheduleEvents({ snapshot: { pool, windows }, before }: StatusTransition): readonly PoolEvent[] {
  if (before?.observedGeneration === pool.metadata.generation) return [];
  return windows.flatMap(({ schedule: { name }, problem }): PoolEvent[] => {
    const message = `Schedule "${name}" never opens: ${problem ?? ''}. Correct its cron or timeZone`;
    return problem === undefined ? [] : [{ type: 'Warning', reason: eventReasons.scheduleInvalid, message }];
  });
}

/** Whether others wait for this status: the pool ran empty, or is full again. */
export function isUrgent(before: SandboxWarmPoolStatus | undefined, after: SandboxWarmPoolStatus): boolean {
  if (isAvailable(before) && !isAvailable(after)) return true;
  return (after.desiredReplicas ?? 0) > 0 && isFull(after) && !isFull(before);
}

function isAvailable(status: SandboxWarmPoolStatus | undefined): boolean {
  return findCondition(status?.conditions, warmPoolConditions.available)?.status === 'True';
}

function isFull(status: SandboxWarmPoolStatus | undefined): boolean {
  return status !== undefined && (status.readyReplicas ?? 0) >= (status.desiredReplicas ?? 0);
}
