import {
  effectiveMode,
  findCondition,
  nameHashSelector,
  rfc3339,
  sandboxConditions,
  serviceFQDN,
  suspenderOf,
} from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxStatus } from '@sandlot/api-types';
import { startupOf } from '../lifetime/decide-startup.ts';
import { expiryMs, startedAtOf } from '../lifetime/expiry.ts';
import { lastActivityOf } from '../lifetime/idle.ts';

import { onlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { awaitsRestart, restartsOf } from '../pod/restart.ts';
import { serviceInUse } from '../service/decide-service.ts';
import { conditionsOf, conditionsOfExpired } from './conditions.ts';

/**
 * The whole status of a Sandbox that has not expired: docs/reference/sandbox.md#status. Empty values are left out, as Go
 * clients leave them out, so that equal states compare equal.
 */
export function statusOf(snapshot: Snapshot): SandboxStatus {
  const { sandbox, nowMs } = snapshot;
  const before = sandbox.status ?? {};
  const conditions = conditionsOf(snapshot, rfc3339(nowMs));
  const startedAt = startedAtOf(snapshot);
  return withoutEmpty({
    runtime: runtimeOf(sandbox, isTrue(conditions, sandboxConditions.ready)),
    lastActivityTime: lastActivityOf(snapshot, isTrue(conditions, sandboxConditions.ready)),
    restarts: restartsOf(snapshot),
    startup: startupOf(snapshot),
    conditions,
    ...serviceFields(snapshot),
    ...podFields(snapshot),
    observedGeneration: sandbox.metadata.generation,
    phase: phaseOf(snapshot, conditions),
    startedAt,
    expiresAt: expiresAtOf({ ...sandbox, status: { ...before, conditions } }, startedAt),
    ...suspensionFields(snapshot, conditions),
  });
}

/** First pass of an expiry: the reason becomes visible before anything is deleted. */
export function expiringStatusOf(snapshot: Snapshot): SandboxStatus {
  const conditions = conditionsOfExpired(snapshot, rfc3339(snapshot.nowMs));
  return {
    ...snapshot.sandbox.status,
    conditions,
    observedGeneration: snapshot.sandbox.metadata.generation,
    phase: 'Expired',
  };
}

/** What a retained Sandbox shows once its children are gone: docs/reference/sandbox.md#status. */
export function expiredStatusOf(snapshot: Snapshot): SandboxStatus {
  const conditions = conditionsOfExpired(snapshot, rfc3339(snapshot.nowMs));
  return withoutEmpty({ conditions, observedGeneration: snapshot.sandbox.metadata.generation, phase: 'Expired' });
}

/** Whether the status says Ready. */
export function isReadyNow(status: SandboxStatus | undefined): boolean {
  return isTrue(status?.conditions, sandboxConditions.ready);
}

/** The daemon starts with its container, so it runs in a Pod that is Ready. */
function runtimeOf({ spec, status }: Sandbox, isReady: boolean): SandboxStatus['runtime'] {
  if (spec.runtime?.inject !== true) return status?.runtime;
  const { version, initializedAt } = status?.runtime ?? {};
  const runtime = { version, initializedAt, ready: isReady ? true : undefined };
  const known = Object.entries(runtime).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function serviceFields(snapshot: Snapshot): SandboxStatus {
  const service = serviceInUse(snapshot);
  if (service === undefined) return {};
  return { service: service.metadata.name, serviceFQDN: serviceFQDN(service, snapshot.settings.clusterDomain) };
}

function podFields(snapshot: Snapshot): SandboxStatus {
  const { sandbox, ownedPods, foreignPod } = snapshot;
  const pod = onlyPod(snapshot);
  const hasSeenPod = pod !== undefined || foreignPod !== undefined;
  const selector = hasSeenPod ? nameHashSelector(sandbox.metadata.name ?? '') : sandbox.status?.selector;
  const replicas = ownedPods.length > 0 ? 1 : undefined;
  if (pod === undefined || effectiveMode(sandbox.spec) === 'Suspended') return { selector, replicas };
  return {
    selector,
    replicas,
    podIPs: (pod.status?.podIPs ?? []).map(({ ip }) => ip),
    nodeName: pod.spec.nodeName,
  };
}

/** `Restarting` lasts until the new Pod is Ready, or until the Sandbox is suspended or finishes. */
function phaseOf(snapshot: Snapshot, conditions: readonly Condition[]): NonNullable<SandboxStatus['phase']> {
  const { sandbox } = snapshot;
  if (effectiveMode(sandbox.spec) === 'Suspended') {
    return isTrue(conditions, sandboxConditions.suspended) ? 'Suspended' : 'Suspending';
  }
  if (isTrue(conditions, sandboxConditions.finished)) return 'Finished';
  if (isTrue(conditions, sandboxConditions.ready)) return 'Running';
  return awaitsRestart(snapshot) || sandbox.status?.phase === 'Restarting' ? 'Restarting' : 'Pending';
}

/** When the last suspension was complete and who asked for it, or when the Sandbox was resumed. */
function suspensionFields({ sandbox, nowMs }: Snapshot, conditions: readonly Condition[]): SandboxStatus {
  const { suspendedAt, suspendedBy, resumedAt, conditions: before } = sandbox.status ?? {};
  const wasSuspended = isTrue(before, sandboxConditions.suspended);
  if (effectiveMode(sandbox.spec) === 'Running') {
    return wasSuspended ? { resumedAt: rfc3339(nowMs) } : { resumedAt };
  }
  if (!isTrue(conditions, sandboxConditions.suspended)) return { resumedAt };
  return {
    suspendedAt: wasSuspended ? suspendedAt : rfc3339(nowMs),
    suspendedBy: wasSuspended ? suspendedBy : suspenderOf(sandbox),
  };
}

function expiresAtOf(sandbox: Sandbox, startedAt: string | undefined): string | undefined {
  const ms = expiryMs(sandbox, startedAt);
  return ms === undefined ? undefined : rfc3339(ms);
}

function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** Leaves out what Go clients leave out: undefined, empty text, zero and empty lists. */
function withoutEmpty(status: SandboxStatus): SandboxStatus {
  return Object.fromEntries(
    Object.entries(status).filter(([, value]) => {
      if (value === undefined || value === '' || value === 0) return false;
      return !Array.isArray(value) || value.length > 0;
    }),
  );
}
