import { findCondition, sandboxConditions, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxStatus, SandboxWarmPoolSpec } from '@sandlot/api-types';
import { isFinished, isReady } from '@sandlot/blueprint';
import type { Member } from '../plan/snapshot.ts';

type StuckPolicy = SandboxWarmPoolSpec['stuckMember'];

const DEFAULT_GRACE_SECONDS = 300;

/** Why a member is not Ready, for people. */
export interface Ailment {
  /** UpperCamelCase: what the scheduler or the sandbox-controller calls it. */
  readonly reason: string;
  readonly message: string;
}

const UNSCHEDULABLE = 'Unschedulable';

/** Since when a member is not Ready: its creation, or the moment it was Ready last. Wall-clock milliseconds. */
export function notReadySinceMs({ metadata, status }: Sandbox): number {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  const changedMs = ready === undefined ? NaN : Date.parse(ready.lastTransitionTime);
  return Math.max(...[createdMs, changedMs].filter((ms) => !Number.isNaN(ms)), 0);
}

/** What the status of a Sandbox tells about why it is not Ready, the most telling first. */
export function ailmentOf({ status }: Sandbox): Ailment {
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

const NOT_STARTED: Ailment = { reason: 'NotStarted', message: 'no Pod yet; is the sandbox-controller running?' };

/** Which of its images or volumes is to blame stands in the Events of the Pod alone. */
const NOT_RUNNING: Ailment = {
  reason: 'ContainersNotStarted',
  message: 'the Pod has a node but its containers do not start: see its Events for images and volumes',
};

export function isUnschedulable(sandbox: Sandbox): boolean {
  const scheduled = findCondition(sandbox.status?.conditions, sandboxConditions.podScheduled);
  return scheduled?.status === 'False' && scheduled.reason === UNSCHEDULABLE;
}

function graceMsOf(policy: StuckPolicy): number {
  return (policy?.graceSeconds ?? DEFAULT_GRACE_SECONDS) * 1_000;
}

/** Not Ready for longer than the pool's patience. */
export function isStuck(sandbox: Sandbox, policy: StuckPolicy, nowMs: number): boolean {
  return !isReady(sandbox) && !isFinished(sandbox) && nowMs - notReadySinceMs(sandbox) > graceMsOf(policy);
}

/**
 * Whether a stuck member is replaced. One that waits for room is kept under `Hold`, because another would wait too; but
 * not for a template that has changed meanwhile: the new one may fit (API contract, stuck members).
 */
export function isReplacedWhenStuck({ sandbox, current }: Member, policy: StuckPolicy, hasTemplate: boolean): boolean {
  const hold = (policy?.unschedulable ?? 'Hold') === 'Hold' && isUnschedulable(sandbox);
  return !hold || (hasTemplate && !current);
}

const SLACK_MS = 2_000;
const HOLD_LOOK_MS = 60_000;

export interface Patience {
  readonly policy: StuckPolicy;
  readonly nowMs: number;
  readonly jitter: number;
}

/** When to look again at members that are not Ready, in milliseconds; undefined when all are. */
export function lookAtStuckMs(members: readonly Member[], { policy, nowMs, jitter }: Patience): number | undefined {
  let soonest: number | undefined;
  for (const { sandbox } of members) {
    if (isReady(sandbox) || isFinished(sandbox)) continue;
    const remainingMs = notReadySinceMs(sandbox) + graceMsOf(policy) - nowMs;
    const lookMs = remainingMs < 0 ? HOLD_LOOK_MS : (remainingMs + SLACK_MS) * (1 + jitter / 2);
    soonest = Math.min(soonest ?? Infinity, lookMs);
  }
  return soonest;
}

const MAX_AILMENTS = 3;

interface Complaint extends Ailment {
  readonly count: number;
}

/** By reason, the commonest first; of several messages the last one counts. */
function complaintsOf(members: readonly Member[]): readonly Complaint[] {
  const byReason = new Map<string, Complaint>();
  for (const { sandbox } of members) {
    const ailment = ailmentOf(sandbox);
    byReason.set(ailment.reason, { ...ailment, count: (byReason.get(ailment.reason)?.count ?? 0) + 1 });
  }
  return [...byReason.values()].sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
}

/** Members by what keeps them from being Ready: `2 Unschedulable (0/1 nodes are available), 1 ReconcilerError (...)`. */
export function ailmentsText(members: readonly Member[]): string {
  const complaints = complaintsOf(members);
  const shown = complaints
    .slice(0, MAX_AILMENTS)
    .map(({ count, reason, message }) => (message === '' ? `${count} ${reason}` : `${count} ${reason} (${message})`));
  const rest = complaints.slice(MAX_AILMENTS).reduce((sum, { count }) => sum + count, 0);
  return [...shown, ...(rest === 0 ? [] : [`${rest} others`])].join(', ');
}
