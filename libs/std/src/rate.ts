/** How often something happens, weighted towards the recent past. `atMs` is monotonic. */
export interface Rate {
  readonly perSecond: number;
  readonly atMs: number;
}

/** The rate at `nowMs` when no event has come since: it fades by a factor of e every `windowMs`. */
export function computeRate(rate: Rate | undefined, nowMs: number, windowMs: number): number {
  if (rate === undefined) return 0;
  return rate.perSecond * Math.exp(-Math.max(0, nowMs - rate.atMs) / windowMs);
}

/** The rate after one more event at `nowMs`: an event counts as much as one in `windowMs`. */
export function withEvent(rate: Rate | undefined, nowMs: number, windowMs: number): Rate {
  return { perSecond: computeRate(rate, nowMs, windowMs) + 1_000 / windowMs, atMs: nowMs };
}
