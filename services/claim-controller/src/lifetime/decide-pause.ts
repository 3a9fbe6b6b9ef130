import { annotations, effectiveMode, findCondition, sandboxConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { parseDurationMs } from '@sandlot/std';
import { pauseAtMs } from './deadlines.ts';
import { wait } from '../plan/plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

/** What a Sandbox that was woken after its end is given at least (wire contract, lifetime). */
const SHORTEST_RENEWAL_MS = 300_000;
const NOTHING: Plan = [];

/**
 * What the end of a claim's time means for its Sandbox, where it is to be paused instead of ended (wire contract,
 * lifetime): it is suspended, and kept as long as the claim says. Woken afterwards, it is given time anew.
 */
export function decidePause(snapshot: ClaimSnapshot, sandbox: Sandbox): Plan {
  const { claim, nowMs } = snapshot;
  const atMs = pauseAtMs(claim);
  if (atMs === undefined || sandbox.metadata.deletionTimestamp !== undefined) return NOTHING;
  const leftMs = atMs - nowMs;
  if (effectiveMode(sandbox.spec) === 'Suspended') return leftMs > 0 ? NOTHING : decideRetention(claim, atMs);
  if (leftMs > 0) return [wait(leftMs, 'the Sandbox is paused')];
  const wokenMs = wokenAtMs(snapshot, sandbox, atMs);
  if (wokenMs === undefined) return [{ kind: 'pause', sandbox, endedAtMs: atMs }];
  return [{ kind: 'prolong', endAtMs: wokenMs + renewalMs(claim) }];
}

/** How long a paused Sandbox is kept: the end of that is the end of the claim. */
function decideRetention({ metadata, spec }: SandboxClaim, endedAtMs: number): Plan {
  const keptMs = parseDurationMs(metadata.annotations?.[annotations.pausedRetention] ?? '');
  if (keptMs === undefined || spec.lifecycle?.shutdownTime !== undefined) return NOTHING;
  return [{ kind: 'retain', shutdownAtMs: endedAtMs + keptMs }];
}

/**
 * When the Sandbox was woken after the end, epoch milliseconds; undefined when it was not. Its status may not tell yet:
 * then it is being woken now. A suspension that was withdrawn leaves no trace in it, and is remembered by who asked for it.
 */
function wokenAtMs({ nowMs, pausedForMs }: ClaimSnapshot, { status }: Sandbox, atMs: number): number | undefined {
  const resumedMs = Date.parse(status?.resumedAt ?? '');
  // Times of the status are cut to the second.
  if (resumedMs + 999 >= atMs) return resumedMs;
  const isSuspended = findCondition(status?.conditions, sandboxConditions.suspended)?.status === 'True';
  return isSuspended || pausedForMs === atMs ? nowMs : undefined;
}

function renewalMs({ metadata }: SandboxClaim): number {
  const seconds = Number(metadata.annotations?.[annotations.timeoutSeconds] ?? 0);
  return Math.max(Number.isFinite(seconds) ? seconds * 1_000 : 0, SHORTEST_RENEWAL_MS);
}
