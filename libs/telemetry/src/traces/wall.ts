import { systemClock } from '@sandlot/std';

/** The wall clock may be set while a process runs: by more than this, and spans follow it. */
const APART_MS = 20;

let originMs = performance.timeOrigin;

/**
 * Epoch milliseconds with a fraction, for the times of spans. One clock for all of them, so that a span never ends after the
 * one around it: the SDK's own begins anew, in whole milliseconds, with each span.
 */
export function wallMs(): number {
  const ms = originMs + performance.now();
  const apartMs = systemClock.now() - ms;
  if (Math.abs(apartMs) <= APART_MS) return ms;
  originMs += apartMs;
  return ms + apartMs;
}
