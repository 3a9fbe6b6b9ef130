import { annotations, effectiveMode } from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import { decideTeardown, expiryMs, isExpired, isMarkedExpired } from './lifetime/expiry.ts';
import { decideIdleDeletion, decideIdleSuspension, idleWakeMs } from './lifetime/idle.ts';
import { decidePod } from './pod/decide-pod.ts';
import { decideClaims } from './disks/decide-disks.ts';
import { restartWakeMs } from './pod/restart.ts';
import { decideService } from './service/decide-service.ts';
import { onlyPod } from './plan/snapshot.ts';
import type { Snapshot } from './plan/snapshot.ts';
import { decideStartup, isStartupPending } from './lifetime/decide-startup.ts';
import { expiredStatusOf, expiringStatusOf, isReadyNow, startOf, statusOf } from './status/status.ts';
import { decideStatusWrite } from './status/decide-status-write.ts';
import type { Plan, Step } from './plan/steps.ts';
import { transitionNotes } from './status/transition-events.ts';
import { decideTroubles, troubleWakeMs } from './troubles/decide-troubles.ts';
import { decideWake } from './wake/decide-wake.ts';

/** A Pod of somebody else need not carry a label we watch, so nothing tells when it goes. */
const FOREIGN_POD_RECHECK_MS = 60_000;

/** In this order; the first that has something to do is what happens next. */
const stages: readonly ((snapshot: Snapshot) => Plan)[] = [
  wakeUp,
  (snapshot) => [...decideStartup(snapshot), ...decideIdleSuspension(snapshot)].slice(0, 1),
  decideClaims,
  decideIdleDeletion,
  (snapshot) => announced(snapshot, decidePod(snapshot)),
  decideService,
  (snapshot) => publish(snapshot, statusOf(snapshot)),
  decideTroubles,
];

/**
 * What to do next about one Sandbox, given everything known about it. Called again after each plan is applied, until it
 * returns nothing: then the world is as the Sandbox wants it, as far as this pass can tell (API contract, pass order).
 */
export function decide(snapshot: Snapshot): Plan {
  if (snapshot.gone) return [];
  const wake = decideWake(snapshot, deadlineMs(snapshot));
  if (wake.kind === 'refuse') return [wake.step];
  if (snapshot.sandbox.metadata.deletionTimestamp !== undefined) return [];
  if (isExpired(snapshot, deadlineMs(snapshot))) return decideExpiry(snapshot);
  for (const stage of stages) {
    const plan = stage(snapshot);
    if (plan.length > 0) return plan;
  }
  return [];
}

/** Before the Pod goes: a suspension that nobody has acted on yet is withdrawn, and its Pod stays. */
function wakeUp(snapshot: Snapshot): Plan {
  const wake = decideWake(snapshot, deadlineMs(snapshot));
  if (wake.kind === 'resume') return [wake.step];
  return wake.kind === 'later' ? publish(snapshot, statusOf(snapshot)) : [];
}

/** When this Sandbox needs a pass although nothing changes; undefined: never. Epoch milliseconds. */
export function wakeAtMs(snapshot: Snapshot): number | undefined {
  if (snapshot.gone || snapshot.sandbox.metadata.deletionTimestamp !== undefined) return undefined;
  const deadline = deadlineMs(snapshot);
  if (isMarkedExpired(snapshot.sandbox) && isExpired(snapshot, deadline)) return undefined;
  const write = decideStatusWrite(snapshot, statusOf(snapshot));
  const heldUntil = write.kind === 'hold' ? write.untilMs : undefined;
  const lookAgain = snapshot.foreignPod === undefined ? undefined : snapshot.nowMs + FOREIGN_POD_RECHECK_MS;
  const own = [deadline, restartWakeMs(snapshot), idleWakeMs(snapshot), troubleWakeMs(snapshot)];
  const times = [...own, heldUntil, lookAgain].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

function deadlineMs(snapshot: Snapshot): number | undefined {
  return expiryMs(snapshot.sandbox, startOf(snapshot));
}

function decideExpiry(snapshot: Snapshot): Plan {
  if (!isMarkedExpired(snapshot.sandbox)) {
    return [...publish(snapshot, expiringStatusOf(snapshot)), { kind: 'lookAgain' }];
  }
  const teardown = decideTeardown(snapshot);
  if (teardown.length > 0) return teardown;
  return publish(snapshot, snapshot.failures.length > 0 ? expiringStatusOf(snapshot) : expiredStatusOf(snapshot));
}

/**
 * A Pod that is gone must be seen as not Ready before its successor exists. Otherwise a crash between the creation and
 * the status write, and a quick start, would hide that the sandbox was ever away, or leave a restart uncounted.
 */
function announced(snapshot: Snapshot, pod: Plan): Plan {
  const { status } = snapshot.sandbox;
  const isUntold = isReadyNow(status) || status?.restarts?.nextRestartTime !== undefined;
  const isReplacement = isUntold && pod.some((step) => step.kind === 'createPod');
  return isReplacement ? publishStatus(snapshot, statusOf(snapshot)) : pod;
}

/** The closing writes: the name of the Pod, which must be known before Ready is, then the status, if it says more. */
function publish(snapshot: Snapshot, next: SandboxStatus): Plan {
  return [...annotate(snapshot), ...publishStatus(snapshot, next)];
}

function publishStatus(snapshot: Snapshot, next: SandboxStatus): Plan {
  const write = decideStatusWrite(snapshot, next);
  if (write.kind !== 'write') return [];
  const notes = transitionNotes(snapshot.sandbox, next);
  const status: Step = { kind: 'patchStatus', patch: write.patch };
  return [status, ...notes.map((note): Step => ({ kind: 'recordEvent', note }))];
}

/** Keeps the annotations of the Sandbox true: the Pod's name while there is one, and who suspended it until it resumes. */
function annotate(snapshot: Snapshot): Plan {
  const { sandbox, ownedPods } = snapshot;
  if (ownedPods.length > 1) return [];
  const given = sandbox.metadata.annotations ?? {};
  const wanted = onlyPod(snapshot)?.metadata.name;
  const changes = {
    ...(given[annotations.podName] === wanted ? {} : { [annotations.podName]: wanted ?? null }),
    ...(isRecordOver(sandbox) ? { [annotations.suspendedBy]: null } : {}),
  };
  if (Object.keys(changes).length === 0) return [];
  return [{ kind: 'patchSandbox', patch: { metadata: { uid: sandbox.metadata.uid, annotations: changes } } }];
}

/**
 * The record of who suspended it is also the proof that the startup action was taken, and that the idle clock has to stop:
 * it stays until the status says so.
 */
function isRecordOver(sandbox: Sandbox): boolean {
  const { metadata, spec, status } = sandbox;
  if (metadata.annotations?.[annotations.suspendedBy] === undefined || effectiveMode(spec) === 'Suspended')
    return false;
  return !isStartupPending(sandbox) && status?.lastActivityTime === undefined;
}
