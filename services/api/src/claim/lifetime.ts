import { annotations, rfc3339 } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import { parseDurationMs } from '@sandlot/std';

/** What happens to a sandbox when its time is over. */
export type OnTimeout = 'kill' | 'pause';

/** Told as the end of what has none. */
const NEVER_MS = 100 * 365 * 86_400_000;

export function onTimeoutOf({ metadata }: SandboxClaim): OnTimeout {
  return metadata.annotations?.[annotations.onTimeout] === 'pause' ? 'pause' : 'kill';
}

/** When the claim's time is over, epoch milliseconds; undefined: never. */
export function endAtMs({ metadata, spec }: SandboxClaim): number | undefined {
  const text = metadata.annotations?.[annotations.endAt] ?? spec.lifecycle?.shutdownTime;
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** When it was Ready first; undefined before that. In whole seconds: what pages are ordered by must not move. */
export function startedAtMs({ status }: SandboxClaim): number | undefined {
  const ms = Date.parse(status?.completionTime ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** When it was asked for: by this API to the millisecond, else as Kubernetes has it. */
export function createdAtMs({ metadata }: SandboxClaim): number {
  return Date.parse(metadata.annotations?.[annotations.createdAt] ?? metadata.creationTimestamp ?? '') || 0;
}

/** The end that clients are told. */
export function shownEndMs(claim: SandboxClaim): number {
  return endAtMs(claim) ?? (startedAtMs(claim) ?? 0) + NEVER_MS;
}

export interface NewEnd {
  readonly endMs: number;
  /** What was asked for, which a wake gives again. */
  readonly timeoutSeconds: number;
}

/** Times of Kubernetes have whole seconds; nothing ends early. */
function upToSecond(ms: number): string {
  return rfc3339(Math.ceil(ms / 1_000) * 1_000);
}

/** What a claim says about its end from the beginning. */
export function endFields(
  onTimeout: OnTimeout,
  { endMs, timeoutSeconds }: NewEnd,
): { readonly notes: Record<string, string>; readonly lifecycle: SandboxClaim['spec']['lifecycle'] } {
  const endAt = upToSecond(endMs);
  return {
    notes: { [annotations.endAt]: endAt, [annotations.timeoutSeconds]: String(timeoutSeconds) },
    lifecycle: onTimeout === 'kill' ? { shutdownTime: endAt, shutdownPolicy: 'Delete' } : undefined,
  };
}

/** Merge patch that gives a running claim another end. Whatever kept it while it was paused is over. */
export function endPatch(claim: SandboxClaim, end: NewEnd): JsonObject {
  const { notes, lifecycle } = endFields(onTimeoutOf(claim), end);
  const { shutdownTime = null, shutdownPolicy = 'Delete' } = lifecycle ?? {};
  return { metadata: { annotations: notes }, spec: { lifecycle: { shutdownTime, shutdownPolicy } } };
}

/**
 * Merge patch for a claim that is about to be paused: its end no longer deletes it, but that of its retention, if it has one
 * (E2B contract, lifetime).
 */
export function retentionPatch(claim: SandboxClaim, nowMs: number, asked?: string): JsonObject {
  const retention = asked ?? claim.metadata.annotations?.[annotations.pausedRetention] ?? 'forever';
  const keptMs = parseDurationMs(retention);
  const shutdownTime = keptMs === undefined ? null : upToSecond(nowMs + keptMs);
  return {
    metadata: { annotations: { [annotations.pausedRetention]: retention } },
    spec: { lifecycle: { shutdownTime, shutdownPolicy: 'Delete' } },
  };
}
