import { eventReasons, findCondition, warmPoolConditions } from '@sandlot/api-types';
import type { SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { Note, Step } from '../plan/plan.ts';
import { isNotProgressing, isRollingOut, wasRollingOut } from './progressing.ts';
import type { PoolSnapshot } from '../plan/snapshot.ts';

/** What has changed between the status last written and the one to be written. */
interface Change {
  readonly snapshot: PoolSnapshot;
  readonly before: SandboxWarmPoolStatus | undefined;
  readonly after: SandboxWarmPoolStatus;
  /** For people: what decided the target. */
  readonly source: string;
}

/** Told on the transition from the status last written; never repeated while it lasts. */
export function newsOf(change: Change): readonly Step[] {
  const notes = [...rolloutNotes(change), ...progressNotes(change), ...targetNotes(change), ...scheduleNotes(change)];
  return notes.map((note): Step => ({ kind: 'note', ...note }));
}

/** A rollout that is interrupted by other findings goes on afterwards: stale members say that it had begun. */
function rolloutNotes({ snapshot, before, after }: Change): readonly Note[] {
  const { pool, template, templateHash = '' } = snapshot;
  if (before === undefined || template === undefined || !replacesStale(pool)) return [];
  const was = wasRollingOut(before) || hadStale(before);
  const is = isRollingOut({ ...snapshot, lastStatus: before }, { target: after.desiredReplicas ?? 0 });
  if (was === is) return [];
  if (!is) {
    const message = `All members are of blueprint ${templateHash}`;
    return [{ type: 'Normal', reason: eventReasons.rolloutFinished, message }];
  }
  const message = `Members of an earlier template are being replaced by those of blueprint ${templateHash}`;
  return [{ type: 'Normal', reason: eventReasons.rolloutStarted, message }];
}

function replacesStale({ spec }: SandboxWarmPool): boolean {
  return spec.updateStrategy !== undefined && spec.updateStrategy.type !== 'OnReplenish';
}

function hadStale({ updatedReplicas = 0, replicas = 0 }: SandboxWarmPoolStatus): boolean {
  return updatedReplicas < replicas;
}

/** Whether others wait for the status: the pool ran empty, or is full again. */
export function isTurn(before: SandboxWarmPoolStatus | undefined, after: SandboxWarmPoolStatus): boolean {
  if (isAvailable(before) && !isAvailable(after)) return true;
  return (after.desiredReplicas ?? 0) > 0 && isFull(after) && !isFull(before);
}

function isAvailable(status: SandboxWarmPoolStatus | undefined): boolean {
  return findCondition(status?.conditions, warmPoolConditions.available)?.status === 'True';
}

function isFull(status: SandboxWarmPoolStatus | undefined): boolean {
  return status !== undefined && (status.readyReplicas ?? 0) >= (status.desiredReplicas ?? 0);
}

function progressNotes({ before, after }: Change): readonly Note[] {
  const [was, is] = [isNotProgressing(before), isNotProgressing(after)];
  if (is && !was) {
    const message = findCondition(after.conditions, warmPoolConditions.progressing)?.message ?? '';
    return [{ type: 'Warning', reason: eventReasons.warmPoolNotProgressing, message }];
  }
  if (is || !was) return [];
  return [{ type: 'Normal', reason: eventReasons.warmPoolProgressing, message: 'Warm pool is progressing again' }];
}

function targetNotes({ before, after, source }: Change): readonly Note[] {
  const [was, is] = [before?.desiredReplicas, after.desiredReplicas];
  if (was === undefined || was === is) return [];
  const message = `Target changed from ${was} to ${is ?? 0} (${source})`;
  return [{ type: 'Normal', reason: eventReasons.targetChanged, message }];
}

/** A schedule that can never open is told when the spec that has it is first acted on. */
function scheduleNotes({ snapshot: { pool, windows }, before }: Change): readonly Note[] {
  if (before?.observedGeneration === pool.metadata.generation) return [];
  return windows.flatMap(({ schedule: { name }, problem }): Note[] => {
    const message = `Schedule "${name}" never opens: ${problem ?? ''}. Correct its cron or timeZone`;
    return problem === undefined ? [] : [{ type: 'Warning', reason: eventReasons.scheduleInvalid, message }];
  });
}
