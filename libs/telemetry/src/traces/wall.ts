import { systemClock } from '@sandlot/std';

/** Spans follow a wall clock that is set while the process runs by more than this. */
const APART_MS = 20;

let originMs = performance.timeOrigin;

/**
 * Epoch milliseconds with a fraction, for the times of spans. All spans share one clock, so that none ends after the one
 * around it: the SDK starts a new clock, in whole milliseconds, for each span.
 */
export function wallMs(): number {
  const ms = originMs + performance.now();
  const apartMs = systemClock.now() - ms;
  if (Math.abs(apartMs) <= APART_MS) return ms;
  originMs += apartMs;
  return ms + apartMs;
}
