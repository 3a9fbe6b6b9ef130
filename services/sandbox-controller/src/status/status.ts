import {
  resolveMode,
  findCondition,
  nameHashSelector,
  formatRfc3339,
  sandboxConditions,
  formatServiceFQDN,
  getSuspender,
} from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxStatus } from '@sandlot/api-types';
import { findStartup } from '../lifetime/decide-startup.ts';
import { findExpiryMs, findStartedAt } from '../lifetime/expiry.ts';
import { findLastActivity } from '../lifetime/idle.ts';

import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isAwaitingRestart, findRestarts } from '../pod/restart.ts';
import { findRuntimeIdentity } from '../pod/runtime-identity.ts';
import { findServiceInUse } from '../service/decide-service.ts';
import { listConditions, listConditionsOfExpired } from './conditions.ts';
import { buildMemoryFields } from './kept-memory.ts';

/**
 * The whole status of a Sandbox that has not expired: docs/reference/sandbox.md#status. Empty values are left out, as Go
 * clients leave them out, so that equal states compare equal.
 */
export function getStatus(snapshot: Snapshot): SandboxStatus {
  const { sandbox, nowMs } = snapshot;
  const before = sandbox.status ?? {};
  const conditions = listConditions(snapshot, formatRfc3339(nowMs));
  const startedAt = findStartedAt(snapshot);
  return withoutEmpty({
    runtime: findRuntime(snapshot, isTrue(conditions, sandboxConditions.ready)),
    lastActivityTime: findLastActivity(snapshot, isTrue(conditions, sandboxConditions.ready)),
    restarts: findRestarts(snapshot),
    startup: findStartup(snapshot),
    conditions,
    ...buildServiceFields(snapshot),
    ...buildPodFields(snapshot),
    observedGeneration: sandbox.metadata.generation,
    phase: getPhase(snapshot, conditions),
    startedAt,
    expiresAt: findExpiresAt({ ...sandbox, status: { ...before, conditions } }, startedAt),
    ...buildSuspensionFields(snapshot, conditions),
    ...buildMemoryFields(snapshot, isTrue(conditions, sandboxConditions.suspended)),
  });
}

/** First pass of an expiry: the reason becomes visible before anything is deleted. */
export function buildExpiringStatus(snapshot: Snapshot): SandboxStatus {
  const conditions = listConditionsOfExpired(snapshot, formatRfc3339(snapshot.nowMs));
  return {
    ...snapshot.sandbox.status,
    conditions,
    observedGeneration: snapshot.sandbox.metadata.generation,
    phase: 'Expired',
  };
}

/** What a retained Sandbox shows once its children are gone: docs/reference/sandbox.md#status. */
export function getExpiredStatus(snapshot: Snapshot): SandboxStatus {
  const conditions = listConditionsOfExpired(snapshot, formatRfc3339(snapshot.nowMs));
  return withoutEmpty({ conditions, observedGeneration: snapshot.sandbox.metadata.generation, phase: 'Expired' });
}

/** Whether the status says Ready. */
export function isReadyNow(status: SandboxStatus | undefined): boolean {
  return isTrue(status?.conditions, sandboxConditions.ready);
}

/** The daemon starts with its container, so it runs in a Pod that is Ready. */
function findRuntime(snapshot: Snapshot, isReady: boolean): SandboxStatus['runtime'] {
  const { spec, status } = snapshot.sandbox;
  const { version, initializedAt, ready } = status?.runtime ?? {};
  const isReadyNext = spec.runtime?.inject === true ? isReady || undefined : ready;
  const runtime = { version, initializedAt, ready: isReadyNext, identity: findRuntimeIdentity(snapshot, isReady) };
  const known = Object.entries(runtime).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function buildServiceFields(snapshot: Snapshot): SandboxStatus {
  const service = findServiceInUse(snapshot);
  if (service === undefined) return {};
  return { service: service.metadata.name, serviceFQDN: formatServiceFQDN(service, snapshot.settings.clusterDomain) };
}

function buildPodFields(snapshot: Snapshot): SandboxStatus {
  const { sandbox, ownedPods, foreignPod } = snapshot;
  const pod = findOnlyPod(snapshot);
  const hasSeenPod = pod !== undefined || foreignPod !== undefined;
  const selector = hasSeenPod ? nameHashSelector(sandbox.metadata.name ?? '') : sandbox.status?.selector;
  const replicas = ownedPods.length > 0 ? 1 : undefined;
  if (pod === undefined || resolveMode(sandbox.spec) === 'Suspended') return { selector, replicas };
  return {
    selector,
    replicas,
    podIPs: (pod.status?.podIPs ?? []).map(({ ip }) => ip),
    nodeName: pod.spec.nodeName,
  };
}

/** `Restarting` lasts until the new Pod is Ready, or until the Sandbox is suspended or finishes. */
function getPhase(snapshot: Snapshot, conditions: readonly Condition[]): NonNullable<SandboxStatus['phase']> {
  const { sandbox } = snapshot;
  if (resolveMode(sandbox.spec) === 'Suspended') {
    return isTrue(conditions, sandboxConditions.suspended) ? 'Suspended' : 'Suspending';
  }
  if (isTrue(conditions, sandboxConditions.finished)) return 'Finished';
  if (isTrue(conditions, sandboxConditions.ready)) return 'Running';
  return isAwaitingRestart(snapshot) || sandbox.status?.phase === 'Restarting' ? 'Restarting' : 'Pending';
}

/** When the last suspension was complete and who requested it, or when the Sandbox was resumed. */
function buildSuspensionFields(snapshot: Snapshot, conditions: readonly Condition[]): SandboxStatus {
  const { sandbox, nowMs } = snapshot;
  const { suspendedAt, suspendedBy, resumedAt, conditions: before } = sandbox.status ?? {};
  const wasSuspended = isTrue(before, sandboxConditions.suspended);
  if (resolveMode(sandbox.spec) === 'Running') {
    return wasSuspended ? { resumedAt: formatRfc3339(nowMs) } : { resumedAt };
  }
  if (!isTrue(conditions, sandboxConditions.suspended)) return { resumedAt };
  return {
    suspendedAt: wasSuspended ? suspendedAt : formatRfc3339(nowMs),
    suspendedBy: wasSuspended ? suspendedBy : getSuspender(sandbox),
  };
}

function findExpiresAt(sandbox: Sandbox, startedAt: string | undefined): string | undefined {
  const ms = findExpiryMs(sandbox, startedAt);
  return ms === undefined ? undefined : formatRfc3339(ms);
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
