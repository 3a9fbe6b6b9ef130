import { effectiveMode, findCondition, nameHash, rfc3339, sandboxConditions, sandboxReasons } from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { failed, isTerminating, onlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';

type Restarts = NonNullable<SandboxStatus['restarts']>;

/**
 * Whether the Pod has ended and will be replaced: its policy covers the way it ended and restarts are left. Until then it
 * has not finished, or a claim's TTL would fire on a sandbox about to come back (API contract, restart of a terminal Pod).
 * A Pod that somebody deletes is replaced anyway, without a delay.
 */
export function awaitsRestart(snapshot: Snapshot): boolean {
  const { spec } = snapshot.sandbox;
  const pod = onlyPod(snapshot);
  if (pod === undefined || effectiveMode(spec) === 'Suspended') return false;
  if (!restartCovers(spec, pod.status?.phase)) return false;
  const isScheduled = restartMs(snapshot.sandbox) !== undefined;
  const { maxRestarts } = policyOf(spec);
  return (isScheduled || !isTerminating(pod)) && (maxRestarts === 0 || countOf(snapshot) < maxRestarts);
}

/** Whether the time for the replacement has come. Only a time that is published counts: it survives everything. */
export function isRestartDue(snapshot: Snapshot): boolean {
  const dueMs = restartMs(snapshot.sandbox);
  return dueMs !== undefined && dueMs <= snapshot.nowMs && awaitsRestart(snapshot);
}

/** When the Pod is replaced, or the restarts so far are forgotten; undefined: neither is ahead. Epoch milliseconds. */
export function restartWakeMs(snapshot: Snapshot): number | undefined {
  const { sandbox } = snapshot;
  const pod = onlyPod(snapshot);
  if (pod !== undefined && !isTerminating(pod) && awaitsRestart(snapshot)) return restartMs(sandbox);
  return (sandbox.status?.restarts?.count ?? 0) > 0 ? steadyMs(sandbox) : undefined;
}

/** `status.restarts`: what ended last, when a replacement is due, and how many there were. */
export function restartsOf(snapshot: Snapshot): Restarts | undefined {
  const { sandbox } = snapshot;
  const pod = onlyPod(snapshot);
  const count = countOf(snapshot) + (isBeingReplaced(snapshot) ? 1 : 0);
  const { lastReason, lastExitTime } = { ...sandbox.status?.restarts, ...lastExit(snapshot) };
  const isPending = pod !== undefined && awaitsRestart(snapshot);
  const restarts = {
    ...(count === 0 ? {} : { count }),
    ...(lastReason === undefined ? {} : { lastReason }),
    ...(lastExitTime === undefined ? {} : { lastExitTime }),
    ...(isPending ? { nextRestartTime: rfc3339(restartMs(sandbox) ?? scheduleMs(snapshot, pod)) } : {}),
  };
  return Object.keys(restarts).length === 0 ? undefined : restarts;
}

/** Whether the policy of `spec` replaces a Pod that ended like this. */
export function restartCovers(spec: Sandbox['spec'], phase: string | undefined): boolean {
  const { restart } = policyOf(spec);
  if (phase === 'Failed') return restart !== 'Never';
  return phase === 'Succeeded' && restart === 'Always';
}

function policyOf({ podFailurePolicy = {} }: Sandbox['spec']) {
  const { restart = 'Never', maxRestarts = 5 } = podFailurePolicy;
  const { backoffSeconds = 10, maxBackoffSeconds = 300, resetAfterSeconds = 600 } = podFailurePolicy;
  return { restart, maxRestarts, backoffSeconds, maxBackoffSeconds, resetAfterSeconds };
}

function restartMs({ status }: Sandbox): number | undefined {
  const published = status?.restarts?.nextRestartTime;
  return published === undefined ? undefined : Date.parse(published);
}

/** The Pod that was to be replaced is gone. Its successor is only created once this is on record, so it counts once. */
function isBeingReplaced(snapshot: Snapshot): boolean {
  const isGone = snapshot.ownedPods.length === 0 && !failed(snapshot, 'pod');
  return isGone && effectiveMode(snapshot.sandbox.spec) === 'Running' && restartMs(snapshot.sandbox) !== undefined;
}

/** Restarts so far; none once the Sandbox has been Ready for long enough, even if that is noticed only after the next exit. */
function countOf(snapshot: Snapshot): number {
  const { sandbox, nowMs } = snapshot;
  const pod = onlyPod(snapshot);
  const steadyAtMs = steadyMs(sandbox);
  const upToMs = (pod === undefined ? undefined : exitMs(pod)) ?? nowMs;
  return steadyAtMs !== undefined && steadyAtMs <= upToMs ? 0 : (sandbox.status?.restarts?.count ?? 0);
}

/** When the Sandbox will have been Ready without a break for `resetAfterSeconds`; undefined while it is not Ready. */
function steadyMs({ spec, status }: Sandbox): number | undefined {
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  if (ready?.status !== 'True') return undefined;
  return Date.parse(ready.lastTransitionTime) + policyOf(spec).resetAfterSeconds * 1_000;
}

/** Exits are recorded where a policy is concerned with them. Without times of containers, the first look dates the exit. */
function lastExit(snapshot: Snapshot): Pick<Restarts, 'lastReason' | 'lastExitTime'> {
  const { sandbox, nowMs } = snapshot;
  const pod = onlyPod(snapshot);
  if (pod === undefined || isTerminating(pod) || !restartCovers(sandbox.spec, pod.status?.phase)) return {};
  if (isExitRecorded(sandbox)) return {};
  return { lastReason: exitReason(pod), lastExitTime: rfc3339(exitMs(pod) ?? nowMs) };
}

function isExitRecorded(sandbox: Sandbox): boolean {
  const { restarts, phase } = sandbox.status ?? {};
  return restarts?.lastExitTime !== undefined && (restartMs(sandbox) !== undefined || phase === 'Finished');
}

/** Doubling delay after the exit, in whole seconds as times in a status are: rounded up, so that it is never early. */
function scheduleMs(snapshot: Snapshot, pod: Pod): number {
  const { metadata, spec } = snapshot.sandbox;
  const count = countOf(snapshot);
  const { backoffSeconds, maxBackoffSeconds } = policyOf(spec);
  const seconds = Math.min(backoffSeconds * 2 ** count, maxBackoffSeconds);
  const spread = Math.floor(seconds / 10);
  // Sandboxes that failed together come back apart, and every pass arrives at the same time for one of them.
  const draw = Number.parseInt(nameHash(`${metadata.uid ?? ''}/${count}`), 16) % (2 * spread + 1);
  const fromSeconds = Math.ceil((exitMs(pod) ?? snapshot.nowMs) / 1_000);
  return (fromSeconds + seconds - spread + draw) * 1_000;
}

/** When the last container ended, as the kubelet reported it. */
function exitMs({ status }: Pod): number | undefined {
  const times = (status?.containerStatuses ?? []).flatMap(({ state }) => {
    const finishedAt = state?.terminated?.finishedAt;
    return finishedAt === undefined ? [] : [Date.parse(finishedAt)];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Why the Pod ended: what the node says (`Evicted`), else what a failed container does (`OOMKilled`). */
function exitReason({ status }: Pod): string {
  const ended = (status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated ?? []);
  const culprit = ended.find(({ exitCode }) => exitCode !== 0) ?? ended[0];
  const fallback = status?.phase === 'Succeeded' ? sandboxReasons.podSucceeded : sandboxReasons.podFailed;
  return [status?.reason, culprit?.reason].find((reason) => reason !== undefined && reason !== '') ?? fallback;
}
