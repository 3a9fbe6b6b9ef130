// Why a member is not Ready, in the words of the pool's status.
import { findCondition, sandboxConditions, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import type { Member } from '../plan/snapshot.ts';

export interface NotReadyCause {
  /** UpperCamelCase: the word of the scheduler or of the sandbox-controller. */
  readonly reason: string;
  readonly message: string;
}

const UNSCHEDULABLE = 'Unschedulable';

/** Since when a member is not Ready: its creation, or the moment it was last Ready. Wall-clock milliseconds. */
export function getNotReadySinceMs({ metadata, status }: Sandbox): number {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  const changedMs = ready === undefined ? NaN : Date.parse(ready.lastTransitionTime);
  return Math.max(...[createdMs, changedMs].filter((ms) => !Number.isNaN(ms)), 0);
}

/** The most specific cause that the status of the Sandbox gives. */
export function buildNotReadyCause({ status }: Sandbox): NotReadyCause {
  const scheduled = findCondition(status?.conditions, sandboxConditions.podScheduled);
  if (scheduled?.status === 'False') return { reason: scheduled.reason, message: scheduled.message };
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  if (ready === undefined) return NOT_STARTED;
  const isWaiting = ready.reason === sandboxReasons.dependenciesNotReady && scheduled?.status === 'True';
  return isWaiting && isPending(status) ? NOT_RUNNING : { reason: ready.reason, message: ready.message };
}

function isPending(status: SandboxStatus | undefined): boolean {
  return status?.phase === 'Pending';
}

const NOT_STARTED: NotReadyCause = { reason: 'NotStarted', message: 'no Pod yet; is the sandbox-controller running?' };

/** Only the Events of the Pod name the image or volume that fails. */
const NOT_RUNNING: NotReadyCause = {
  reason: 'ContainersNotStarted',
  message: 'the Pod has a node but its containers do not start: see its Events for images and volumes',
};

export function isUnschedulable(sandbox: Sandbox): boolean {
  const scheduled = findCondition(sandbox.status?.conditions, sandboxConditions.podScheduled);
  return scheduled?.status === 'False' && scheduled.reason === UNSCHEDULABLE;
}

const MAX_CAUSES = 3;

interface CountedCause extends NotReadyCause {
  readonly count: number;
}

/** By reason, the commonest first; of several messages the last one counts. */
function countCauses(members: readonly Member[]): readonly CountedCause[] {
  const byReason = new Map<string, CountedCause>();
  for (const { sandbox } of members) {
    const cause = buildNotReadyCause(sandbox);
    byReason.set(cause.reason, { ...cause, count: (byReason.get(cause.reason)?.count ?? 0) + 1 });
  }
  return [...byReason.values()].sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
}

/** For example `2 Unschedulable (0/1 nodes are available), 1 ReconcilerError (...)`. */
export function describeNotReady(members: readonly Member[]): string {
  const causes = countCauses(members);
  const shown = causes
    .slice(0, MAX_CAUSES)
    .map(({ count, reason, message }) => (message === '' ? `${count} ${reason}` : `${count} ${reason} (${message})`));
  const rest = causes.slice(MAX_CAUSES).reduce((sum, { count }) => sum + count, 0);
  return [...shown, ...(rest === 0 ? [] : [`${rest} others`])].join(', ');
}
