// With `refill.delay` a pool waits until claims stop adopting its members before it refills.
import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { parseDurationMs } from '@sandlot/std';

export type RefillSpec = SandboxWarmPoolSpec['refill'];

/** A run of adoptions that extends one pause. Times are monotonic. */
export interface Adoptions {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Adoptions extend `refill.delay` to at most this many delays (docs/reference/sandbox-warm-pool.md#refill). */
const REARM_LIMIT = 10;

function refillDelayMs(refill: RefillSpec): number {
  return parseDurationMs(refill?.delay ?? '0s') ?? 0;
}

export interface Pause {
  readonly untilMs: number;
  /** When the pause ends if no further claim adopts a member. */
  readonly silentMs: number;
  /** The pause reached its limit while adoptions went on. */
  readonly exhausted: boolean;
}

export function getPause(adoptions: Adoptions, refill: RefillSpec, nowMs: number): Pause {
  const delayMs = refillDelayMs(refill);
  const silentMs = adoptions.lastMs + delayMs;
  const lastMs = adoptions.firstMs + delayMs * REARM_LIMIT;
  return { untilMs: Math.min(silentMs, lastMs), silentMs, exhausted: lastMs <= nowMs && nowMs < silentMs };
}

/**
 * The adoptions after one more: it extends the pause, or starts one after a silence. An exhausted pause does not start
 * again before the pool has refilled, or claims could postpone the refill for ever.
 */
export function addAdoption(adoptions: Adoptions | undefined, refill: RefillSpec, nowMs: number): Adoptions {
  const isSilent = adoptions === undefined || nowMs >= getPause(adoptions, refill, nowMs).silentMs;
  return isSilent ? { firstMs: nowMs, lastMs: nowMs } : { ...adoptions, lastMs: nowMs };
}

/** The adoptions when a refill starts: claims that adopt from now on start another pause. */
export function restartPause(adoptions: Adoptions | undefined, nowMs: number): Adoptions | undefined {
  return adoptions === undefined ? undefined : { ...adoptions, firstMs: nowMs };
}

/** Whether a running refill should stop, because an adoption started another pause. */
export function needsInterruption(adoptions: Adoptions | undefined, refill: RefillSpec, nowMs: number): boolean {
  return adoptions !== undefined && nowMs < getPause(adoptions, refill, nowMs).untilMs;
}
