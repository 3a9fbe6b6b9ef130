// Lifecycle events on the bus, as they happen and best effort: losing one loses nothing but time.
import { annotations, findCondition, labels, sandboxConditions } from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';
import { eventId } from '@sandlot/bus';
import type { Bus, EventType } from '@sandlot/bus';
import { controllerOf } from '@sandlot/kube';
import { idleDeleteMs } from './idle.ts';

interface Change {
  readonly before: Sandbox;
  readonly after: Sandbox;
}

/** Tells of what the status of `after` says and that of `before` did not. */
export function announceStatus(bus: Bus, before: Sandbox, after: Sandbox): void {
  const change = { before, after };
  announceStart(bus, change);
  announceSuspension(bus, change);
  announceEnd(bus, change);
}

/** Tells that a Sandbox is gone, and what ended it. */
export function announceDeletion(bus: Bus, sandbox: Sandbox, nowMs: number): void {
  const isIdle = (idleDeleteMs({ sandbox, nowMs }) ?? Infinity) <= nowMs;
  const cause = sandbox.status?.phase === 'Expired' ? 'expiry' : isIdle ? 'idle' : 'user';
  const { uid = '' } = sandbox.metadata;
  const id = eventId({ uid, type: 'sandbox.deleted', marker: 'deleted' });
  bus.publish({ type: 'sandbox.deleted', id, timeMs: nowMs, data: { ...about(sandbox), cause } });
}

function announceStart(bus: Bus, { before, after }: Change): void {
  const launchType = launchTypeOf(after);
  if (before.status?.conditions === undefined) {
    const type = 'sandbox.created';
    bus.publish({ type, ...at(after, type, after.metadata.creationTimestamp), data: { ...about(after), launchType } });
  }
  const ready = turned({ before, after }, sandboxConditions.ready, 'True');
  if (ready === undefined) return;
  const podName = after.metadata.annotations?.[annotations.podName];
  const data = { ...about(after), launchType, podName };
  bus.publish({ type: 'sandbox.ready', ...at(after, 'sandbox.ready', ready.lastTransitionTime), data });
}

function announceSuspension(bus: Bus, change: Change): void {
  const { before, after } = change;
  const asleep = turned(change, sandboxConditions.suspended, 'True');
  if (asleep !== undefined) {
    const data = { ...about(after), cause: after.status?.suspendedBy ?? 'User' };
    bus.publish({ type: 'sandbox.suspended', ...at(after, 'sandbox.suspended', asleep.lastTransitionTime), data });
  }
  const awake = turned(change, sandboxConditions.suspended, 'False');
  if (awake === undefined || findCondition(before.status?.conditions, sandboxConditions.suspended) === undefined)
    return;
  const data = { ...about(after), cause: before.status?.suspendedBy ?? 'User' };
  bus.publish({ type: 'sandbox.resumed', ...at(after, 'sandbox.resumed', awake.lastTransitionTime), data });
}

function announceEnd(bus: Bus, change: Change): void {
  const { after } = change;
  const finished = turned(change, sandboxConditions.finished, 'True');
  if (finished !== undefined) {
    const { reason, message, lastTransitionTime } = finished;
    const outcome = reason === 'PodSucceeded' ? ('succeeded' as const) : ('failed' as const);
    const data = { ...about(after), outcome, reason, message };
    bus.publish({ type: 'sandbox.finished', ...at(after, 'sandbox.finished', lastTransitionTime), data });
  }
  announceExpiry(bus, change);
}

function announceExpiry(bus: Bus, { before, after }: Change): void {
  const ready = findCondition(after.status?.conditions, sandboxConditions.ready);
  if (after.status?.phase !== 'Expired' || before.status?.phase === 'Expired' || ready === undefined) return;
  const data = { ...about(after), reason: ready.reason, message: ready.message };
  const time = before.status?.expiresAt ?? ready.lastTransitionTime;
  bus.publish({ type: 'sandbox.expired', ...at(after, 'sandbox.expired', time), data });
}

/** The condition, when this change gave it `status`. */
function turned({ before, after }: Change, type: string, status: Condition['status']): Condition | undefined {
  const now = findCondition(after.status?.conditions, type);
  const wasSo = findCondition(before.status?.conditions, type)?.status === status;
  return now?.status === status && !wasSo ? now : undefined;
}

/** Identity and time of a transition, from the object alone: every publisher of it arrives at the same. */
function at(sandbox: Sandbox, type: EventType, time = ''): { id: string; timeMs: number } {
  return { id: eventId({ uid: sandbox.metadata.uid ?? '', type, marker: time }), timeMs: Date.parse(time) };
}

function about(sandbox: Sandbox) {
  const { namespace = '', name = '', uid = '' } = sandbox.metadata;
  const owner = controllerOf(sandbox);
  const template = sandbox.metadata.annotations?.[annotations.templateRef];
  return {
    namespace,
    name,
    uid,
    ...(owner?.kind === 'SandboxClaim' ? { claim: { name: owner.name, uid: owner.uid } } : {}),
    ...(owner?.kind === 'SandboxWarmPool' ? { pool: owner.name } : {}),
    ...(template === undefined ? {} : { template }),
  };
}

function launchTypeOf(sandbox: Sandbox): 'warm' | 'cold' | 'unknown' {
  const given = sandbox.metadata.labels?.[labels.launchType];
  return given === 'warm' || given === 'cold' ? given : 'unknown';
}
