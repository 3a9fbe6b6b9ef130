import {
  resolveMode,
  findCondition,
  sandboxConditions as types,
  sandboxMessages as messages,
  sandboxReasons as reasons,
  setCondition,
} from '@sandlot/api-types';
import type { Condition, NextCondition } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { findSaveOf, isSaved } from '../hibernate/hibernations.ts';
import { describeSuspending } from '../hibernate/describe-suspending.ts';
import { findResizeWait } from '../pod/decide-cpu.ts';
import { isRunningRequestedImage } from '../pod/decide-image.ts';
import { isAwaitingRestart } from '../pod/restart.ts';
import { needsService, findServiceInUse } from '../service/decide-service.ts';
import { findStartProblem, findStartWait, isStartUnconfirmed } from '../start-memory/describe-start.ts';
import { isTerminating, findOnlyPod } from '../plan/snapshot.ts';
import type { Failure, Snapshot } from '../plan/snapshot.ts';

/** A condition before its generation is stamped. */
type Finding = Omit<NextCondition, 'type' | 'observedGeneration'>;

/**
 * The conditions of a Sandbox that has not expired: always Ready and Suspended, PodScheduled while it has a Pod, Finished
 * while that Pod is in a terminal phase. Never add a fifth type: typed clients compare the whole set. The reasons:
 * docs/reference/sandbox.md#conditions.
 */
export function listConditions(snapshot: Snapshot, nowRfc3339: string): Condition[] {
  const found: Record<string, Finding | undefined> = {
    [types.suspended]: buildSuspended(snapshot),
    [types.finished]: findFinished(snapshot),
    [types.podScheduled]: findPodScheduled(snapshot),
    [types.ready]: buildReady(snapshot),
  };
  return stamp(snapshot, found, nowRfc3339);
}

/** The conditions of an expired Sandbox: Suspended and Finished stay, Ready says why, PodScheduled is removed. */
export function listConditionsOfExpired(snapshot: Snapshot, nowRfc3339: string): Condition[] {
  const before = snapshot.sandbox.status?.conditions;
  const found: Record<string, Finding | undefined> = {
    [types.suspended]: findCondition(before, types.suspended),
    [types.finished]: findCondition(before, types.finished),
    [types.ready]: { status: 'False', reason: reasons.sandboxExpired, message: messages.expired },
  };
  return stamp(snapshot, found, nowRfc3339);
}

function stamp(
  { sandbox }: Snapshot,
  found: Readonly<Record<string, Finding | undefined>>,
  nowRfc3339: string,
): Condition[] {
  const before = sandbox.status?.conditions;
  return Object.entries(found)
    .flatMap(([type, finding]): NextCondition[] => {
      if (finding === undefined) return [];
      const { status, reason, message } = finding;
      return [{ type, status, observedGeneration: sandbox.metadata.generation, reason, message }];
    })
    .flatMap((next) => setCondition(before, next, nowRfc3339).filter((condition) => condition.type === next.type))
    .sort((a, b) => (a.type < b.type ? -1 : 1));
}

/** Nothing is known about the Pod: none was seen, and reading or writing Pods failed, or there are several. */
function isPodUnknown(snapshot: Snapshot): boolean {
  const isUnread = snapshot.failures.some(({ phase, reason }) => phase === 'pod' && reason === undefined);
  return findOnlyPod(snapshot) === undefined && (isUnread || snapshot.ownedPods.length > 1);
}

function buildSuspended(snapshot: Snapshot): Finding {
  if (resolveMode(snapshot.sandbox.spec) === 'Running') {
    return { status: 'False', reason: reasons.notSuspended, message: messages.notSuspended };
  }
  if (isPodUnknown(snapshot)) {
    return { status: 'Unknown', reason: reasons.podStateUnknown, message: messages.podStateUnknown };
  }
  const pod = findOnlyPod(snapshot);
  if (pod !== undefined) return { status: 'False', ...describeSuspending(snapshot, pod) };
  if (snapshot.foreignPod !== undefined) {
    return { status: 'False', reason: reasons.podNotOwned, message: messages.podNotOwned };
  }
  return { status: 'True', reason: reasons.podTerminated, message: messages.podTerminated };
}

/**
 * Terminal phase of the Pod. A Pod that ends because it is being deleted has not finished its work: kubelets report Failed
 * on the way out, and a claim's TTL must not start then. A Pod that the controller deletes for a restart did end.
 */
function findTerminalPhase(snapshot: Snapshot): 'Succeeded' | 'Failed' | undefined {
  const pod = findOnlyPod(snapshot);
  const phase = pod?.status?.phase;
  if (pod === undefined || (phase !== 'Succeeded' && phase !== 'Failed')) return undefined;
  const wasFinished = findCondition(snapshot.sandbox.status?.conditions, types.finished) !== undefined;
  return isTerminating(pod) && !wasFinished && !isAwaitingRestart(snapshot) ? undefined : phase;
}

function findFinished(snapshot: Snapshot): Finding | undefined {
  const phase = findTerminalPhase(snapshot);
  if (phase === undefined || isAwaitingRestart(snapshot)) return undefined;
  return { status: 'True', ...terminalText[phase] };
}

const terminalText = {
  Succeeded: { reason: reasons.podSucceeded, message: messages.podSucceeded },
  Failed: { reason: reasons.podFailed, message: messages.podFailed },
} as const;

function findPodScheduled(snapshot: Snapshot): Finding | undefined {
  const unknown = { status: 'Unknown', reason: reasons.podSchedulingUnknown } as const;
  if (isPodUnknown(snapshot)) return { ...unknown, message: messages.schedulingUnknown };
  const pod = findOnlyPod(snapshot);
  if (pod === undefined) return undefined;
  const reported = findCondition(pod.status?.conditions, 'PodScheduled');
  if (reported === undefined) return { ...unknown, message: messages.schedulingNotReported };
  const given = reported.reason ?? '';
  const fallback = reported.status === 'True' ? reasons.podScheduled : reasons.podSchedulingUnknown;
  return { status: reported.status, reason: given === '' ? fallback : given, message: reported.message ?? '' };
}

/** Why the Sandbox is not Ready, in order of precedence: docs/reference/sandbox.md#conditions. Readiness comes last. */
const checks: readonly ((snapshot: Snapshot) => Omit<Finding, 'status'> | undefined)[] = [
  ({ ownedPods }) =>
    ownedPods.length > 1
      ? { reason: reasons.multiplePods, message: messages.multiplePods(ownedPods.length) }
      : undefined,
  ({ failures }) => (failures.length > 0 ? reportFailures(failures) : undefined),
  (snapshot) => {
    if (resolveMode(snapshot.sandbox.spec) === 'Running') return undefined;
    const sawPod = findOnlyPod(snapshot) !== undefined || snapshot.foreignPod !== undefined;
    return { reason: reasons.sandboxSuspended, message: sawPod ? messages.suspending : messages.suspended };
  },
  (snapshot) => {
    const message = findStartProblem(snapshot);
    return message === undefined ? undefined : { reason: reasons.restoreFailed, message };
  },
  (snapshot) => {
    const phase = findTerminalPhase(snapshot);
    return phase === undefined ? undefined : terminalText[phase];
  },
];

/** A wait is reported as such, unless something also went wrong. Clients give up at InvalidConfiguration, so nothing else may have. */
function reportFailures(failures: readonly Failure[]): Omit<Finding, 'status'> {
  const errors = failures.filter(({ reason }) => reason === undefined);
  const [wait] = failures;
  if (errors.length === 0 && wait?.reason !== undefined) return { reason: wait.reason, message: wait.message };
  const reason = errors.every(({ isInvalid }) => isInvalid === true)
    ? reasons.invalidConfiguration
    : reasons.reconcilerError;
  return { reason, message: messages.error(errors.map((f) => f.message).join('\n')) };
}

function buildReady(snapshot: Snapshot): Finding {
  for (const check of checks) {
    const finding = check(snapshot);
    if (finding !== undefined) return { status: 'False', ...finding };
  }
  const pod = getPodReadiness(snapshot);
  const isServiceMissing = needsService(snapshot) && findServiceInUse(snapshot) === undefined;
  const message = withServiceText(snapshot, pod.message);
  if (pod.ready && !isServiceMissing) return { status: 'True', reason: reasons.dependenciesReady, message };
  return { status: 'False', reason: pod.reason ?? reasons.dependenciesNotReady, message };
}

function withServiceText(snapshot: Snapshot, message: string): string {
  if (!needsService(snapshot)) return message;
  return findServiceInUse(snapshot) === undefined ? messages.withoutService(message) : messages.withService(message);
}

interface PodReadiness {
  readonly ready: boolean;
  readonly message: string;
  /** In place of `DependenciesNotReady`. */
  readonly reason?: string;
}

/** A terminating Pod is never ready, whatever its last probe said: its address is about to disappear. */
function getPodReadiness(snapshot: Snapshot): PodReadiness {
  const pod = findOnlyPod(snapshot);
  if (pod === undefined) return { ready: false, message: findStartWait(snapshot) ?? messages.podMissing };
  const phase = pod.status?.phase ?? 'Pending';
  if (phase !== 'Running') return { ready: false, message: messages.podInPhase(phase) };
  if (!isPassingProbes(snapshot, pod) || isTerminating(pod))
    return { ready: false, message: messages.podRunningNotReady };
  const missing = findMissing(snapshot, pod);
  if (missing !== undefined) return { ready: false, message: missing };
  const resize = findResizeWait(snapshot.sandbox, pod);
  return resize === undefined ? { ready: true, message: messages.podReady } : { ready: false, ...resize };
}

/** What a Pod still lacks that passes its probes. */
function findMissing(snapshot: Snapshot, pod: Pod): string | undefined {
  if ((pod.status?.podIPs ?? []).length === 0) return messages.podWithoutIPs;
  if (isSaved(findSaveOf(snapshot, pod), pod)) return messages.podSaved;
  return isStartUnconfirmed(snapshot) ? messages.startUnconfirmed : undefined;
}

/** Probes of the old image do not count once another one is requested. */
function isPassingProbes({ sandbox }: Snapshot, pod: Pod): boolean {
  if (!isRunningRequestedImage(sandbox, pod)) return false;
  return findCondition(pod.status?.conditions, 'Ready')?.status === 'True';
}
