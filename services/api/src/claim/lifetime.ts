// When a claim ends: how the API writes that into a claim, and reads it back (docs/reference/e2b-api.md#lifetime).
import { annotations, formatRfc3339 } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import { parseDurationMs } from '@sandlot/std';

/** What happens to a sandbox when its timeout is over. */
export type OnTimeout = 'kill' | 'pause';

/** Distance of the `endAt` that clients see for a sandbox without an end. */
const NEVER_MS = 100 * 365 * 86_400_000;

export function getOnTimeout({ metadata }: SandboxClaim): OnTimeout {
  return metadata.annotations?.[annotations.onTimeout] === 'pause' ? 'pause' : 'kill';
}

/** End of the claim's timeout, epoch milliseconds; undefined: never. */
export function endAtMs({ metadata, spec }: SandboxClaim): number | undefined {
  const text = metadata.annotations?.[annotations.endAt] ?? spec.lifecycle?.shutdownTime;
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** When the claim was Ready for the first time, epoch milliseconds in whole seconds; undefined before. Lists are ordered by it. */
export function findStartedAtMs({ status }: SandboxClaim): number | undefined {
  const ms = Date.parse(status?.completionTime ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** When the claim was requested, epoch milliseconds; only claims of this API record it more precisely than to the second. */
export function getCreatedAtMs({ metadata }: SandboxClaim): number {
  return Date.parse(metadata.annotations?.[annotations.createdAt] ?? metadata.creationTimestamp ?? '') || 0;
}

/** The `endAt` in answers, epoch milliseconds. */
export function getShownEndMs(claim: SandboxClaim): number {
  return endAtMs(claim) ?? (findStartedAtMs(claim) ?? 0) + NEVER_MS;
}

export interface NewEnd {
  readonly endMs: number;
  /** The requested timeout. The gateway gives it to the sandbox again on a wake. */
  readonly timeoutSeconds: number;
}

/** Kubernetes times have whole seconds. They are rounded up, so that no sandbox ends early. */
function roundUpToSecond(ms: number): string {
  return formatRfc3339(Math.ceil(ms / 1_000) * 1_000);
}

/** The fields of a claim that say when it ends. A claim that is paused at its end has no `lifecycle`. */
export function endFields(
  onTimeout: OnTimeout,
  { endMs, timeoutSeconds }: NewEnd,
): { readonly annotations: Record<string, string>; readonly lifecycle: SandboxClaim['spec']['lifecycle'] } {
  const endAt = roundUpToSecond(endMs);
  return {
    annotations: { [annotations.endAt]: endAt, [annotations.timeoutSeconds]: String(timeoutSeconds) },
    lifecycle: onTimeout === 'kill' ? { shutdownTime: endAt, shutdownPolicy: 'Delete' } : undefined,
  };
}

/** Merge patch that sets the end of a running claim. It replaces the retention of an earlier pause. */
export function endPatch(claim: SandboxClaim, end: NewEnd): JsonObject {
  const fields = endFields(getOnTimeout(claim), end);
  const { shutdownTime = null, shutdownPolicy = 'Delete' } = fields.lifecycle ?? {};
  return { metadata: { annotations: fields.annotations }, spec: { lifecycle: { shutdownTime, shutdownPolicy } } };
}

/**
 * Merge patch for a claim that is about to be paused. The end of its timeout no longer deletes it; the end of its retention
 * does, if there is one. `requested` overrides the retention that the claim was created with.
 */
export function buildRetentionPatch(claim: SandboxClaim, nowMs: number, requested?: string): JsonObject {
  const retention = requested ?? claim.metadata.annotations?.[annotations.pausedRetention] ?? 'forever';
  const keptMs = parseDurationMs(retention);
  const shutdownTime = keptMs === undefined ? null : roundUpToSecond(nowMs + keptMs);
  return {
    metadata: { annotations: { [annotations.pausedRetention]: retention } },
    spec: { lifecycle: { shutdownTime, shutdownPolicy: 'Delete' } },
  };
}

/**
 * Merge patch that gives a claim the end back that it had `before` it was to be paused; undefined if its retention has changed
 * since then, as then another request has set its end.
 */
export function buildEndAgain(
  claim: SandboxClaim,
  { before, retained }: { readonly before: SandboxClaim; readonly retained: SandboxClaim },
): JsonObject | undefined {
  if (formatEnd(claim) !== formatEnd(retained)) return undefined;
  const { shutdownTime = null, shutdownPolicy = 'Delete' } = before.spec.lifecycle ?? {};
  const retention = before.metadata.annotations?.[annotations.pausedRetention] ?? null;
  return {
    metadata: { annotations: { [annotations.pausedRetention]: retention } },
    spec: { lifecycle: { shutdownTime, shutdownPolicy } },
  };
}

function formatEnd({ metadata, spec }: SandboxClaim): string {
  return [spec.lifecycle?.shutdownTime, metadata.annotations?.[annotations.endAt]].join(' ');
}
