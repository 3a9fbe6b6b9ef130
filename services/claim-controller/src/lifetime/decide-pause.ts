import { annotations, resolveMode, findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { parseDurationMs } from '@sandlot/std';
import { pauseAtMs } from './deadlines.ts';
import { wait } from '../plan/plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

/** A Sandbox woken after its end lives at least this much longer (docs/reference/e2b-api.md#lifetime). */
const SHORTEST_RENEWAL_MS = 300_000;
const NOTHING: Plan = [];

/**
 * For claims whose Sandbox is paused at the end of their time instead of ended: suspends it, and keeps it as long as the
 * claim says. When a request wakes it afterwards, it gets more time (docs/reference/e2b-api.md#lifetime).
 */
export function decidePause(snapshot: ClaimSnapshot, sandbox: Sandbox): Plan {
  const { claim, nowMs } = snapshot;
  const atMs = pauseAtMs(claim);
  if (atMs === undefined || sandbox.metadata.deletionTimestamp !== undefined) return NOTHING;
  const leftMs = atMs - nowMs;
  if (resolveMode(sandbox.spec) === 'Suspended') return leftMs > 0 ? NOTHING : decideRetention(claim, atMs);
  if (leftMs > 0) return [wait(leftMs, 'the Sandbox is to be paused')];
  const wokenMs = findWokenAtMs(snapshot, sandbox, atMs);
  if (wokenMs === undefined) return [{ kind: 'pause', sandbox, endedAtMs: atMs }];
  return [{ kind: 'prolong', endAtMs: wokenMs + computeRenewalMs(claim) }];
}

/** Ends the claim when its paused Sandbox has been kept long enough. */
function decideRetention({ metadata, spec }: SandboxClaim, endedAtMs: number): Plan {
  const keptMs = parseDurationMs(metadata.annotations?.[annotations.pausedRetention] ?? '');
  if (keptMs === undefined || spec.lifecycle?.shutdownTime !== undefined) return NOTHING;
  return [{ kind: 'retain', shutdownAtMs: endedAtMs + keptMs }];
}

/**
 * When the Sandbox was woken after the end, epoch milliseconds; undefined when it was not. A status that does not show the
 * wake yet counts as a wake now. A suspension that was withdrawn leaves no trace in the status, so this process remembers
 * for which end it paused the Sandbox.
 */
function findWokenAtMs({ nowMs, pausedForMs }: ClaimSnapshot, { status }: Sandbox, atMs: number): number | undefined {
  const resumedMs = Date.parse(status?.resumedAt ?? '');
  // The status cuts its times to the second.
  if (resumedMs + 999 >= atMs) return resumedMs;
  const isSuspended = findCondition(status?.conditions, sandboxConditions.suspended)?.status === 'True';
  return isSuspended || pausedForMs === atMs ? nowMs : undefined;
}

function computeRenewalMs({ metadata }: SandboxClaim): number {
  const seconds = Number(metadata.annotations?.[annotations.timeoutSeconds] ?? 0);
  return Math.max(Number.isFinite(seconds) ? seconds * 1_000 : 0, SHORTEST_RENEWAL_MS);
}
