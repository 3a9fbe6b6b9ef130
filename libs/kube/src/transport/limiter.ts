import type { Clock } from '@sandlot/std';
import type { Priority } from '../client/types.ts';

/** Calls per second in the long run, and how many may come at once. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

export type RateLimits = Readonly<Record<Priority, RateLimit>>;

/** A backlog of background work must not look like an attack to the server, and claims must never feel it. */
export const DEFAULT_LIMITS: RateLimits = {
  claim: { perSecond: 1_000, burst: 2_000 },
  normal: { perSecond: 300, burst: 600 },
  background: { perSecond: 100, burst: 200 },
};

/** A token bucket per priority. Takers of one priority are served in the order they came. */
export class Limiter {
  readonly #clock: Clock;
  readonly #limits: RateLimits;
  readonly #buckets = new Map<Priority, { tokens: number; atMs: number }>();

  constructor(clock: Clock, limits: RateLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Takes one token and says how long to wait before using it, in milliseconds. A wait beyond `maxWaitMs` takes nothing
   * and gives undefined.
   */
  take(priority: Priority, maxWaitMs: number): number | undefined {
    const { perSecond, burst } = this.#limits[priority];
    const nowMs = this.#clock.monotonic();
    const last = this.#buckets.get(priority) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, last.tokens + ((nowMs - last.atMs) / 1_000) * perSecond) - 1;
    const waitMs = tokens >= 0 ? 0 : (-tokens / perSecond) * 1_000;
    if (waitMs > maxWaitMs) return undefined;
    this.#buckets.set(priority, { tokens, atMs: nowMs });
    return waitMs;
  }
}
