import { eventReasons, findCondition, warmPoolConditions } from '@sandlot/api-types';
import type { SandboxWarmPool, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { Announcement, Note, Step } from './plan.ts';
import { isNotProgressing, isRollingOut, stuckMembers, wasRollingOut } from './progress.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { mainAilment } from './stuck.ts';

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
  const announcements = [...stockNews(change), ...rolloutNews(change), ...stuckNews(change)];
  const notes = [
    ...rolloutNotes(announcements),
    ...progressNotes(change),
    ...targetNotes(change),
    ...scheduleNotes(change),
  ];
  return [
    ...announcements.map((announcement): Step => ({ kind: 'announce', ...announcement })),
    ...notes.map((note): Step => ({ kind: 'note', ...note })),
  ];
}

function sizesOf({ after }: Change): { readonly desired: number; readonly ready: number } {
  return { desired: after.desiredReplicas ?? 0, ready: after.readyReplicas ?? 0 };
}

function stockNews(change: Change): readonly Announcement[] {
  const { before, after } = change;
  const sizes = sizesOf(change);
  if (isAvailable(before) && !isAvailable(after)) return [{ event: 'pool.depleted', ...sizes }];
  return sizes.desired > 0 && isFull(after) && !isFull(before) ? [{ event: 'pool.ready', ...sizes }] : [];
}

function isAvailable(status: SandboxWarmPoolStatus | undefined): boolean {
  return findCondition(status?.conditions, warmPoolConditions.available)?.status === 'True';
}

function isFull(status: SandboxWarmPoolStatus | undefined): boolean {
  return status !== undefined && (status.readyReplicas ?? 0) >= (status.desiredReplicas ?? 0);
}

/** A rollout that is interrupted by other findings goes on afterwards: stale members say that it had begun. */
function rolloutNews(change: Change): readonly Announcement[] {
  const { snapshot, before } = change;
  const { pool, template, templateHash = '' } = snapshot;
  if (before === undefined || template === undefined || !replacesStale(pool)) return [];
  const was = wasRollingOut(before) || hadStale(before);
  const is = isRollingOut({ ...snapshot, lastStatus: before }, { target: sizesOf(change).desired });
  if (was === is) return [];
  const marker = [template.metadata.uid, template.metadata.generation].join('.');
  return [{ event: is ? 'pool.rollout.started' : 'pool.rollout.finished', ...sizesOf(change), templateHash, marker }];
}

function replacesStale({ spec }: SandboxWarmPool): boolean {
  return spec.updateStrategy !== undefined && spec.updateStrategy.type !== 'OnReplenish';
}

function hadStale({ updatedReplicas = 0, replicas = 0 }: SandboxWarmPoolStatus): boolean {
  return updatedReplicas < replicas;
}

function rolloutNotes(announcements: readonly Announcement[]): readonly Note[] {
  return announcements.flatMap((told): Note[] => {
    if (told.event === 'pool.rollout.started') {
      const message = `Members of an earlier template are being replaced by those of blueprint ${told.templateHash}`;
      return [{ type: 'Normal', reason: eventReasons.rolloutStarted, message }];
    }
    if (told.event !== 'pool.rollout.finished') return [];
    const message = `All members are of blueprint ${told.templateHash}`;
    return [{ type: 'Normal', reason: eventReasons.rolloutFinished, message }];
  });
}

function stuckNews(change: Change): readonly Announcement[] {
  const stuck = stuckMembers(change.snapshot);
  const ailment = mainAilment(stuck);
  if (ailment === undefined || isNotProgressing(change.before)) return [];
  return [{ event: 'pool.stuck', ...sizesOf(change), stuck: stuck.length, ...ailment }];
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
