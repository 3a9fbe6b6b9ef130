import {
  effectiveMode,
  findCondition,
  isPoolMember,
  labels,
  launchTypes,
  nameHashSelector,
  rfc3339,
  sandboxConditions,
  serviceFQDN,
  suspenderOf,
} from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxStatus } from '@sandlot/api-types';
import { conditionsOf, conditionsOfExpired } from './conditions.ts';
import { expiryMs } from '../lifetime/expiry.ts';
import { lastActivityOf } from '../lifetime/idle.ts';
import { awaitsRestart, restartsOf } from '../pod/restart.ts';
import { serviceInUse } from '../service/decide-service.ts';
import { onlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { startupOf } from '../lifetime/decide-startup.ts';

/**
 * The whole status of a Sandbox that has not expired. Empty values are left out, as Go clients leave them out, so that
 * equal states compare equal.
 */
export function statusOf(snapshot: Snapshot): SandboxStatus {
  const { sandbox, nowMs } = snapshot;
  const before = sandbox.status ?? {};
  const conditions = conditionsOf(snapshot, rfc3339(nowMs));
  const startedAt = startOf(snapshot);
  return compact({
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
    expiresAt: deadlineText({ ...sandbox, status: { ...before, conditions } }, startedAt),
    ...suspensionFields(snapshot, conditions),
  });
}

/** First pass of an expiry: the reason becomes visible before anything goes away. */
export function expiringStatusOf(snapshot: Snapshot): SandboxStatus {
  const conditions = conditionsOfExpired(snapshot, rfc3339(snapshot.nowMs));
  return {
    ...snapshot.sandbox.status,
    conditions,
    observedGeneration: snapshot.sandbox.metadata.generation,
    phase: 'Expired',
  };
}

/** What a retained Sandbox shows once its children are gone: the conditions alone (API contract, status). */
export function expiredStatusOf(snapshot: Snapshot): SandboxStatus {
  const conditions = conditionsOfExpired(snapshot, rfc3339(snapshot.nowMs));
  return compact({ conditions, observedGeneration: snapshot.sandbox.metadata.generation, phase: 'Expired' });
}

/**
 * Where the lifetime is counted from: creation, or, for a Sandbox born in a pool, the first pass that sees it adopted.
 * A member still in its pool has no lifetime. An adopted Sandbox whose start was cleared by its expiry falls back to
 * creation: starting anew would bring it back to life.
 */
export function startOf({ sandbox, nowMs }: Pick<Snapshot, 'sandbox' | 'nowMs'>): string | undefined {
  const { metadata, status } = sandbox;
  if (isPoolMember(sandbox)) return undefined;
  if (status?.startedAt !== undefined) return status.startedAt;
  const wasAdopted = metadata.labels?.[labels.launchType] === launchTypes.warm && status?.phase !== 'Expired';
  return wasAdopted ? rfc3339(nowMs) : metadata.creationTimestamp;
}

/** A Pod that is Ready has the daemon running: its start is part of the container's. */
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

/** A restart lasts until the successor is Ready, or the Sandbox takes another turn. */
function phaseOf(snapshot: Snapshot, conditions: readonly Condition[]): NonNullable<SandboxStatus['phase']> {
  const { sandbox } = snapshot;
  if (effectiveMode(sandbox.spec) === 'Suspended') {
    return isTrue(conditions, sandboxConditions.suspended) ? 'Suspended' : 'Suspending';
  }
  if (isTrue(conditions, sandboxConditions.finished)) return 'Finished';
  if (isTrue(conditions, sandboxConditions.ready)) return 'Running';
  return awaitsRestart(snapshot) || sandbox.status?.phase === 'Restarting' ? 'Restarting' : 'Pending';
}

/** When the last suspension was complete and who asked for it, or when the Sandbox left it. */
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

function deadlineText(sandbox: Sandbox, startedAt: string | undefined): string | undefined {
  const deadline = expiryMs(sandbox, startedAt);
  return deadline === undefined ? undefined : rfc3339(deadline);
}

function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** Whether the status says Ready. */
export function isReadyNow(status: SandboxStatus | undefined): boolean {
  return isTrue(status?.conditions, sandboxConditions.ready);
}

/** Leaves out what Go clients leave out: undefined, empty text, zero and empty lists. */
function compact(status: SandboxStatus): SandboxStatus {
  return Object.fromEntries(
    Object.entries(status).filter(([, value]) => {
      if (value === undefined || value === '' || value === 0) return false;
      return !Array.isArray(value) || value.length > 0;
    }),
  );
}
