/** How often something happens, weighted towards the recent past. `atMs` is monotonic. */
export interface Rate {
  readonly perSecond: number;
  readonly atMs: number;
}

/** The rate as it is at `nowMs`, when nothing has happened since: it fades by a factor of e every `windowMs`. */
export function rateAt(rate: Rate | undefined, nowMs: number, windowMs: number): number {
  if (rate === undefined) return 0;
  return rate.perSecond * Math.exp(-Math.max(0, nowMs - rate.atMs) / windowMs);
}

/** The rate after one more event at `nowMs`: an event counts as much as one in `windowMs`. */
export function withEvent(rate: Rate | undefined, nowMs: number, windowMs: number): Rate {
  return { perSecond: rateAt(rate, nowMs, windowMs) + 1_000 / windowMs, atMs: nowMs };
}

/** Claims, or what follows from them, come as fast as only a burst makes them come. */
const BURST_PER_SECOND = 100;
/** Under steady traffic of half that many a second the rate of so short a time never reaches it. */
const BURST_WINDOW_MS = 300;

/** The rate by which {@link isBurst} judges, after one more event. */
export function withBurstEvent(rate: Rate | undefined, nowMs: number): Rate {
  return withEvent(rate, nowMs, BURST_WINDOW_MS);
}

/** Whether a burst is under way at `nowMs`. What nobody waits for then waits until it is over. */
export function isBurst(rate: Rate | undefined, nowMs: number): boolean {
  return rateAt(rate, nowMs, BURST_WINDOW_MS) > BURST_PER_SECOND;
}
