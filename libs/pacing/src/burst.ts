import { computeRate, withEvent } from '@sandlot/std';
import type { Rate } from '@sandlot/std';
import { pacing } from './pacing.ts';

/** The rate by which {@link isBurst} judges, after one more event. `nowMs` is monotonic. */
export function withBurstEvent(rate: Rate | undefined, nowMs: number): Rate {
  return withEvent(rate, nowMs, pacing.burst.windowMs);
}

/** Whether a burst is under way at `nowMs`. Work that no client waits for then waits until it is over. */
export function isBurst(rate: Rate | undefined, nowMs: number): boolean {
  return computeRate(rate, nowMs, pacing.burst.windowMs) > pacing.burst.perSecond;
}
