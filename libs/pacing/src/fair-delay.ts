export interface FairDelay {
  /** Each item that waits adds this much. */
  readonly perItemMs: number;
  readonly longestMs: number;
  readonly leastMs?: number | undefined;
}

/**
 * How long an item waits when `count` items wait with it. However many there are, they leave at one per `perItemMs`, until
 * `longestMs` bounds the wait of each. Milliseconds.
 */
export function computeFairDelayMs(count: number, { perItemMs, longestMs, leastMs = 0 }: FairDelay): number {
  return Math.min(Math.max(leastMs, count * perItemMs), longestMs);
}
