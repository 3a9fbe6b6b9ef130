import { eventReasons, findCondition, sandboxConditions, sandboxMessages, sandboxReasons } from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxSnapshot, SandboxStatus } from '@sandlot/api-types';
import { buildHibernatedNote } from '../hibernate/notes.ts';
import { restartCovers } from '../pod/restart.ts';
import { formatWarning } from '../plan/steps.ts';
import type { EventNote } from '../plan/steps.ts';

/**
 * The Events for a change of status: what happened and, where a person can act, what to do. `hibernation` is the one that the
 * next start continues from.
 */
export function listTransitionNotes(
  { spec, status }: Pick<Sandbox, 'spec' | 'status'>,
  next: SandboxStatus,
  hibernation?: SandboxSnapshot,
): EventNote[] {
  const change = { spec, before: status ?? {}, next, hibernation };
  return [...listReadyNotes(change), ...listSuspensionNotes(change), ...restartNotes(change), ...endNotes(change)];
}

interface Change {
  readonly spec: Sandbox['spec'];
  readonly before: SandboxStatus;
  readonly next: SandboxStatus;
  readonly hibernation?: SandboxSnapshot | undefined;
}

function listReadyNotes(change: Change): EventNote[] {
  const ready = findEntered(change, sandboxConditions.ready);
  if (ready === undefined) return [...listAnotherErrorNotes(change), ...listLossNotes(change)];
  if (ready.reason === sandboxReasons.multiplePods) {
    return [formatWarning(eventReasons.multiplePods, `${ready.message}. Delete all but one of them`)];
  }
  if (isError(ready.reason)) return [formatWarning(ready.reason, ready.message)];
  if (ready.reason === sandboxReasons.dependenciesNotReady) return listLossNotes(change);
  if (ready.reason === sandboxReasons.restoreFailed) {
    const hint = 'Delete this Sandbox, and create another one from a snapshot that is Ready, or with onFailure Boot';
    return [formatWarning(eventReasons.restoreFailed, `${ready.message}. ${hint}`)];
  }
  if (ready.reason === sandboxReasons.sandboxExpired) {
    return [normal(eventReasons.sandboxExpired, `${ready.message}. Move its deadline to bring it back`)];
  }
  return [];
}

const isError = (reason: string): boolean =>
  reason === sandboxReasons.reconcilerError || reason === sandboxReasons.invalidConfiguration;

/** The Sandbox had an error and now has another one. */
function listAnotherErrorNotes({ before, next }: Change): EventNote[] {
  const was = findCondition(before.conditions, sandboxConditions.ready);
  const now = findCondition(next.conditions, sandboxConditions.ready);
  if (now === undefined || !isError(now.reason) || now.message === was?.message) return [];
  return [formatWarning(now.reason, now.message)];
}

/** A Ready Pod that is gone and never was terminating: its node or a forced deletion removed it. */
function listLossNotes({ before, next }: Change): EventNote[] {
  const wasReady = findCondition(before.conditions, sandboxConditions.ready)?.status === 'True';
  const now = findCondition(next.conditions, sandboxConditions.ready);
  if (!wasReady || now?.message.startsWith(sandboxMessages.podMissing) !== true) return [];
  return [normal('PodDeleted', 'Pod was removed by somebody else. A new one follows on the same volumes')];
}

function listSuspensionNotes(change: Change): EventNote[] {
  const suspended = findEntered(change, sandboxConditions.suspended);
  if (suspended === undefined) return [];
  if (suspended.reason === sandboxReasons.podTerminated) {
    if (change.hibernation !== undefined) return [buildHibernatedNote(change.hibernation)];
    return [normal(eventReasons.suspended, 'Sandbox is suspended. Its volumes are kept for the next resume')];
  }
  if (suspended.reason === sandboxReasons.podNotOwned) {
    return [formatWarning(sandboxReasons.podNotOwned, `${suspended.message}. Delete or rename that Pod`)];
  }
  if (suspended.reason === sandboxReasons.hibernationFailed) {
    const hint = 'Resume the Sandbox to use it, or set suspensionStrategy.type to Stop to end its Pod';
    return [formatWarning(eventReasons.hibernationFailed, `${suspended.message}. ${hint}`)];
  }
  const wasSuspended = findCondition(change.before.conditions, sandboxConditions.suspended)?.status === 'True';
  if (!wasSuspended || suspended.message !== sandboxMessages.notSuspended) return [];
  return [normal(eventReasons.resumed, 'Sandbox resumes in a new Pod on the same volumes')];
}

/** The message has no time, so that repeated restarts are one Event with a count. */
function restartNotes({ before, next }: Change): EventNote[] {
  const { lastReason, nextRestartTime } = next.restarts ?? {};
  if (nextRestartTime === undefined || nextRestartTime === before.restarts?.nextRestartTime) return [];
  const ended = `Pod ended (${lastReason ?? 'unknown'})`;
  return [
    normal(eventReasons.podRestarting, `${ended}. A new one follows on the same volumes; status.restarts says when`),
  ];
}

function endNotes(change: Change): EventNote[] {
  const finished = findEntered(change, sandboxConditions.finished);
  if (finished === undefined) return [];
  const phase = finished.reason === sandboxReasons.podSucceeded ? 'Succeeded' : 'Failed';
  if (restartCovers(change.spec, phase)) return [restartLimitNote(change, finished)];
  if (finished.reason === sandboxReasons.podSucceeded) return [normal(finished.reason, finished.message)];
  const hint = 'Set podFailurePolicy.restart to have it replaced, or delete the Pod for a new one';
  return [formatWarning(finished.reason, `${finished.message}. ${hint}`)];
}

function restartLimitNote({ next: { restarts } }: Change, { message }: Condition): EventNote {
  const exit = `${message} (${restarts?.lastReason ?? 'unknown'}) after ${restarts?.count ?? 0} restarts, the limit`;
  const hint = 'Raise podFailurePolicy.maxRestarts to have it replaced, or delete the Pod for a new one';
  return formatWarning(eventReasons.podRestartLimit, `${exit}. ${hint}`);
}

/** The condition, if this change gave it another reason. */
function findEntered({ before, next }: Change, type: string): Condition | undefined {
  const now = findCondition(next.conditions, type);
  return now?.reason === findCondition(before.conditions, type)?.reason ? undefined : now;
}

const normal = (reason: string, message: string): EventNote => ({ type: 'Normal', reason, message });
