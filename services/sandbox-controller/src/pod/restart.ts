import {
  resolveMode,
  findCondition,
  nameHash,
  formatRfc3339,
  sandboxConditions,
  sandboxReasons,
} from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { hasFailed, isTerminating, findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';

type Restarts = NonNullable<SandboxStatus['restarts']>;

/**
 * Whether the Pod has ended and will be replaced: the policy covers how it ended, and restarts are left. Such a Sandbox is
 * not Finished, or a claim's TTL would end a sandbox that is about to come back:
 * docs/reference/sandbox.md#restart-of-a-terminal-pod. A Pod that somebody deletes is replaced anyway, without a delay.
 */
export function isAwaitingRestart(snapshot: Snapshot): boolean {
  const { spec } = snapshot.sandbox;
  const pod = findOnlyPod(snapshot);
  if (pod === undefined || resolveMode(spec) === 'Suspended') return false;
  if (!restartCovers(spec, pod.status?.phase)) return false;
  const isScheduled = restartMs(snapshot.sandbox) !== undefined;
  const { maxRestarts } = buildPolicy(spec);
  return (isScheduled || !isTerminating(pod)) && (maxRestarts === 0 || countOf(snapshot) < maxRestarts);
}

/** Whether the time for the restart has come. Only a published time counts, because it survives a crash. */
export function isRestartDue(snapshot: Snapshot): boolean {
  const dueMs = restartMs(snapshot.sandbox);
  return dueMs !== undefined && dueMs <= snapshot.nowMs && isAwaitingRestart(snapshot);
}

/** When the Pod is replaced or the restart count resets, epoch milliseconds; undefined: never. */
export function restartRequeueAtMs(snapshot: Snapshot): number | undefined {
  const { sandbox } = snapshot;
  const pod = findOnlyPod(snapshot);
  if (pod !== undefined && !isTerminating(pod) && isAwaitingRestart(snapshot)) return restartMs(sandbox);
  return (sandbox.status?.restarts?.count ?? 0) > 0 ? findSteadyMs(sandbox) : undefined;
}

/** `status.restarts`: how the last Pod ended, when the next restart is due, and how many there were. */
export function findRestarts(snapshot: Snapshot): Restarts | undefined {
  const { sandbox } = snapshot;
  const pod = findOnlyPod(snapshot);
  const count = countOf(snapshot) + (isBeingReplaced(snapshot) ? 1 : 0);
  const { lastReason, lastExitTime } = { ...sandbox.status?.restarts, ...getLastExit(snapshot) };
  const isPending = pod !== undefined && isAwaitingRestart(snapshot);
  const restarts = {
    ...(count === 0 ? {} : { count }),
    ...(lastReason === undefined ? {} : { lastReason }),
    ...(lastExitTime === undefined ? {} : { lastExitTime }),
    ...(isPending ? { nextRestartTime: formatRfc3339(restartMs(sandbox) ?? scheduleMs(snapshot, pod)) } : {}),
  };
  return Object.keys(restarts).length === 0 ? undefined : restarts;
}

/** Whether the policy of `spec` replaces a Pod that ended like this. */
export function restartCovers(spec: Sandbox['spec'], phase: string | undefined): boolean {
  const { restart } = buildPolicy(spec);
  if (phase === 'Failed') return restart !== 'Never';
  return phase === 'Succeeded' && restart === 'Always';
}

function buildPolicy({ podFailurePolicy = {} }: Sandbox['spec']) {
  const { restart = 'Never', maxRestarts = 5 } = podFailurePolicy;
  const { backoffSeconds = 10, maxBackoffSeconds = 300, resetAfterSeconds = 600 } = podFailurePolicy;
  return { restart, maxRestarts, backoffSeconds, maxBackoffSeconds, resetAfterSeconds };
}

function restartMs({ status }: Sandbox): number | undefined {
  const published = status?.restarts?.nextRestartTime;
  return published === undefined ? undefined : Date.parse(published);
}

/** The Pod to replace is gone. The status records this before the new Pod is created, so the restart counts once. */
function isBeingReplaced(snapshot: Snapshot): boolean {
  const isGone = snapshot.ownedPods.length === 0 && !hasFailed(snapshot, 'pod');
  return isGone && resolveMode(snapshot.sandbox.spec) === 'Running' && restartMs(snapshot.sandbox) !== undefined;
}

/** Restarts so far; 0 once the Sandbox was Ready for long enough, even if only a pass after the next exit sees that. */
function countOf(snapshot: Snapshot): number {
  const { sandbox, nowMs } = snapshot;
  const pod = findOnlyPod(snapshot);
  const steadyAtMs = findSteadyMs(sandbox);
  const upToMs = (pod === undefined ? undefined : exitMs(pod)) ?? nowMs;
  return steadyAtMs !== undefined && steadyAtMs <= upToMs ? 0 : (sandbox.status?.restarts?.count ?? 0);
}

/** When the Sandbox will have been Ready without a break for `resetAfterSeconds`; undefined while it is not Ready. */
function findSteadyMs({ spec, status }: Sandbox): number | undefined {
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  if (ready?.status !== 'True') return undefined;
  return Date.parse(ready.lastTransitionTime) + buildPolicy(spec).resetAfterSeconds * 1_000;
}

/** Recorded only for exits that the policy covers. Without container times, the first pass that sees the exit dates it. */
function getLastExit(snapshot: Snapshot): Pick<Restarts, 'lastReason' | 'lastExitTime'> {
  const { sandbox, nowMs } = snapshot;
  const pod = findOnlyPod(snapshot);
  if (pod === undefined || isTerminating(pod) || !restartCovers(sandbox.spec, pod.status?.phase)) return {};
  if (isExitRecorded(sandbox)) return {};
  return { lastReason: exitReason(pod), lastExitTime: formatRfc3339(exitMs(pod) ?? nowMs) };
}

function isExitRecorded(sandbox: Sandbox): boolean {
  const { restarts, phase } = sandbox.status ?? {};
  return restarts?.lastExitTime !== undefined && (restartMs(sandbox) !== undefined || phase === 'Finished');
}

/** When to restart after an exit. The delay doubles; whole seconds, as in a status, rounded up so that it is never early. */
function scheduleMs(snapshot: Snapshot, pod: Pod): number {
  const { metadata, spec } = snapshot.sandbox;
  const count = countOf(snapshot);
  const { backoffSeconds, maxBackoffSeconds } = buildPolicy(spec);
  const seconds = Math.min(backoffSeconds * 2 ** count, maxBackoffSeconds);
  const spread = Math.floor(seconds / 10);
  // Spreads Sandboxes that failed together; by hash, so that every pass computes the same time.
  const draw = Number.parseInt(nameHash(`${metadata.uid ?? ''}/${count}`), 16) % (2 * spread + 1);
  const fromSeconds = Math.ceil((exitMs(pod) ?? snapshot.nowMs) / 1_000);
  return (fromSeconds + seconds - spread + draw) * 1_000;
}

/** When the last container ended, as the kubelet reports it. */
function exitMs({ status }: Pod): number | undefined {
  const times = (status?.containerStatuses ?? []).flatMap(({ state }) => {
    const finishedAt = state?.terminated?.finishedAt;
    return finishedAt === undefined ? [] : [Date.parse(finishedAt)];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Why the Pod ended: the reason of the Pod (`Evicted`), else of a failed container (`OOMKilled`). */
function exitReason({ status }: Pod): string {
  const ended = (status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated ?? []);
  const culprit = ended.find(({ exitCode }) => exitCode !== 0) ?? ended[0];
  const fallback = status?.phase === 'Succeeded' ? sandboxReasons.podSucceeded : sandboxReasons.podFailed;
  return [status?.reason, culprit?.reason].find((reason) => reason !== undefined && reason !== '') ?? fallback;
}
