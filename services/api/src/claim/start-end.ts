// The end of a claim whose client waits for it. Its lifetime counts from Ready, so a slow start does not use it up.
import type { SandboxClaim } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import { endAtMs, endPatch } from './lifetime.ts';

/**
 * A claim that is not Ready yet ends so many seconds later at the earliest. Its end moves on only now and then, so that clients
 * with very short lifetimes cause few writes.
 */
const SHORTEST_SECONDS = 20;

/** The part of its lifetime that a start may use up without another write, at most. */
const TOLERATED_PART = 0.1;

/** Kubernetes times have whole seconds. */
const ROUNDING_MS = 1_000;

/** The first end of a claim, epoch milliseconds. */
export function getFirstEndMs(lifetimeSeconds: number, nowMs: number): number {
  return nowMs + Math.max(lifetimeSeconds, SHORTEST_SECONDS) * 1_000;
}

/** Milliseconds after which the end of a claim that is still not Ready moves on. */
export function getRenewalMs(lifetimeSeconds: number): number {
  return Math.max(lifetimeSeconds, SHORTEST_SECONDS) * 500;
}

/** Merge patch that moves the end of a claim on which is not Ready yet. */
export function buildEndOfStarting(claim: SandboxClaim, lifetimeSeconds: number, nowMs: number): JsonObject {
  return endPatch(claim, { endMs: getFirstEndMs(lifetimeSeconds, nowMs), timeoutSeconds: lifetimeSeconds });
}

/**
 * Merge patch that gives a claim which is Ready now its lifetime from now on; undefined if its end is close enough to that, as
 * after a quick start.
 */
export function buildEndOfStarted(claim: SandboxClaim, lifetimeSeconds: number, nowMs: number): JsonObject | undefined {
  const endMs = nowMs + lifetimeSeconds * 1_000;
  const before = endAtMs(claim);
  const toleratedMs = Math.max(ROUNDING_MS, lifetimeSeconds * 1_000 * TOLERATED_PART);
  if (before === undefined || Math.abs(endMs - before) <= toleratedMs) return undefined;
  return endPatch(claim, { endMs, timeoutSeconds: lifetimeSeconds });
}
