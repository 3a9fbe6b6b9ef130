import { isDeepStrictEqual } from 'node:util';
import { findCondition, buildMergePatch, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import type { JsonObject, JsonValue, Pod } from '@sandlot/kube/objects';
import { pacing } from '@sandlot/pacing';
import { findEffectiveExpiryMs } from '../lifetime/expiry.ts';
import { findOnlyPod } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isOnItsWay } from '../start-memory/describe-start.ts';
import { isReadyNow } from './status.ts';

/** The time of a snapshot is when its pass began, so a Pod that the pass created is younger, by at most this. */
const LONGEST_PASS_MS = 60_000;

/** What to do about a status: nothing, write it, or hold it until the given time for a change that makes it worth it. */
export type StatusWrite =
  | { readonly kind: 'none' }
  | { readonly kind: 'write'; readonly patch: JsonObject }
  | { readonly kind: 'hold'; readonly untilMs: number };

/** Decides about writing `next`. Equal states are never written. */
export function decideStatusWrite(snapshot: Snapshot, next: SandboxStatus): StatusWrite {
  const before = snapshot.sandbox.status ?? {};
  const changed = listChangedFields(before, next);
  if (changed.length === 0 || isNodeNameOnly(changed, next)) return { kind: 'none' };
  const { statusHoldUntilMs = 0, nowMs, sandbox } = snapshot;
  if (statusHoldUntilMs > nowMs && isAdoptionOnly(sandbox, next)) return { kind: 'hold', untilMs: statusHoldUntilMs };
  const untilMs = findQuietUntilMs(snapshot);
  if (untilMs !== undefined && isProgressOnly(before, next)) return { kind: 'hold', untilMs };
  return { kind: 'write', patch: buildStatusPatch(snapshot, next) };
}

/** The UID makes the patch fail on a new Sandbox of the same name. */
export function buildStatusPatch({ sandbox: { metadata, status } }: Snapshot, next: SandboxStatus): JsonObject {
  return { metadata: { uid: metadata.uid }, status: buildMergePatch(status ?? {}, next) };
}

/** Only the adoption is new, and no deadline counts from when it was seen. */
function isAdoptionOnly({ spec, status = {} }: Sandbox, next: SandboxStatus): boolean {
  if (spec.ttlSeconds !== undefined || status.startedAt !== undefined) return false;
  return isDeepStrictEqual(withoutAdoption(status), withoutAdoption(next));
}

function withoutAdoption({ conditions = [], ...status }: SandboxStatus): object {
  return {
    ...status,
    observedGeneration: undefined,
    startedAt: undefined,
    conditions: conditions.map((condition) => ({ ...condition, observedGeneration: undefined })),
  };
}

function listChangedFields(before: SandboxStatus, next: SandboxStatus): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(next)]);
  return [...names].filter((name) => !isDeepStrictEqual(findField(before, name), findField(next, name)));
}

function findField(status: SandboxStatus, name: string): JsonValue | undefined {
  const fields: Readonly<Record<string, JsonValue | undefined>> = { ...status };
  return fields[name];
}

/** The node is known seconds before the Pod runs. Unless the Sandbox is Ready, the node waits for the next change. */
function isNodeNameOnly(changed: readonly string[], next: SandboxStatus): boolean {
  return changed.length === 1 && changed[0] === 'nodeName' && !isReadyNow(next);
}

/**
 * End of the quiet time of the Pod, or of a new Sandbox that waits for its copy; undefined when it is over, or when a deadline
 * falls into it.
 */
function findQuietUntilMs(snapshot: Snapshot): number | undefined {
  const pod = findOnlyPod(snapshot);
  const created = (isOnItsWay(snapshot) ? snapshot.sandbox : pod)?.metadata.creationTimestamp;
  if (created === undefined) return undefined;
  const isStuck = pod !== undefined && isUnschedulable(pod);
  const quietMs = isStuck ? pacing.startStatus.unschedulableMs : snapshot.quietMs;
  const untilMs = Date.parse(created) + quietMs;
  const remainingMs = untilMs - snapshot.nowMs;
  const expiryAtMs = findEffectiveExpiryMs(snapshot);
  if (remainingMs <= 0 || remainingMs > quietMs + LONGEST_PASS_MS) return undefined;
  return expiryAtMs !== undefined && expiryAtMs < untilMs ? undefined : untilMs;
}

function isUnschedulable(pod: Pod): boolean {
  return findCondition(pod.status?.conditions, 'PodScheduled')?.status === 'False';
}

/**
 * Only the progress of the start is new, nothing that a client acts on: Ready is not True before and after for the same
 * reason, nothing was suspended or finished, and the generation is not a new one whose effect a client waits for.
 */
function isProgressOnly(before: SandboxStatus, next: SandboxStatus): boolean {
  if (isReadyNow(before) || isReadyNow(next)) return false;
  if (next.phase !== 'Pending' && next.phase !== 'Restarting') return false;
  if (before.conditions === undefined) return findReason(next) === 'DependenciesNotReady';
  return (
    before.observedGeneration === next.observedGeneration &&
    before.phase === next.phase &&
    findReason(before) === findReason(next) &&
    findSuspendedStatus(before) === findSuspendedStatus(next)
  );
}

function findReason(status: SandboxStatus): string | undefined {
  return findCondition(status.conditions, sandboxConditions.ready)?.reason;
}

function findSuspendedStatus(status: SandboxStatus): string | undefined {
  return findCondition(status.conditions, sandboxConditions.suspended)?.status;
}
