// A refill pauses while claims adopt members: creating a member costs the API server several times what an adoption
// costs, and the claims wait for it.
import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { isBurst, pacing, withBurstEvent } from '@sandlot/pacing';
import { parseDurationMs } from '@sandlot/std';
import type { Rate } from '@sandlot/std';

export type RefillSpec = SandboxWarmPoolSpec['refill'];

/** A run of adoptions that extends one pause. Times are monotonic. */
export interface Adoptions {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly pace: Rate;
}

/** Adoptions extend `refill.delay` to at most this many delays (docs/reference/sandbox-warm-pool.md#refill). */
const REARM_LIMIT = 10;

export function refillDelayMs(refill: RefillSpec): number {
  return parseDurationMs(refill?.delay ?? '0s') ?? 0;
}

export interface Pause {
  readonly untilMs: number;
  /** When the pause ends if no further claim adopts a member. */
  readonly silentMs: number;
  /** The pause reached its limit while adoptions went on. */
  readonly exhausted: boolean;
}

/**
 * The pause of a pool without `refill.delay`: until adoptions stop for `waitMs`, at most `limitMs` in total. In a burst
 * adoptions arrive in clumps, so a short silence does not end it.
 */
function ownPauseAt(pace: Rate, nowMs: number): { readonly waitMs: number; readonly limitMs: number } {
  const { steadyWaitMs, steadyLimitMs, burstWaitMs, burstLimitMs } = pacing.refillYield;
  return isBurst(pace, nowMs)
    ? { waitMs: burstWaitMs, limitMs: burstLimitMs }
    : { waitMs: steadyWaitMs, limitMs: steadyLimitMs };
}

export function pauseOf(adoptions: Adoptions, refill: RefillSpec, nowMs: number): Pause {
  const delayMs = refillDelayMs(refill);
  const { waitMs, limitMs } =
    delayMs > 0 ? { waitMs: delayMs, limitMs: delayMs * REARM_LIMIT } : ownPauseAt(adoptions.pace, nowMs);
  const silentMs = adoptions.lastMs + waitMs;
  const lastMs = adoptions.firstMs + limitMs;
  return { untilMs: Math.min(silentMs, lastMs), silentMs, exhausted: lastMs <= nowMs && nowMs < silentMs };
}

/**
 * The adoptions after one more: it extends the pause, or starts one after a silence. An exhausted pause does not start
 * again before the pool has refilled, or claims could postpone the refill for ever.
 */
export function addAdoption(adoptions: Adoptions | undefined, refill: RefillSpec, nowMs: number): Adoptions {
  const pace = withBurstEvent(adoptions?.pace, nowMs);
  const isSilent = adoptions === undefined || nowMs >= pauseOf(adoptions, refill, nowMs).silentMs;
  return isSilent ? { firstMs: nowMs, lastMs: nowMs, pace } : { ...adoptions, lastMs: nowMs, pace };
}

/** The adoptions when a refill starts: claims that adopt from now on start another pause. */
export function restartPause(adoptions: Adoptions | undefined, nowMs: number): Adoptions | undefined {
  return adoptions === undefined ? undefined : { ...adoptions, firstMs: nowMs };
}

/** Whether a running refill that yields to claims should stop: a burst, or `refill.delay`, started another pause. */
export function needsInterruption(adoptions: Adoptions | undefined, refill: RefillSpec, nowMs: number): boolean {
  if (adoptions === undefined || nowMs >= pauseOf(adoptions, refill, nowMs).untilMs) return false;
  return refillDelayMs(refill) > 0 || isBurst(adoptions.pace, nowMs);
}
