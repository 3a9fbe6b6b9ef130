/** Calls per second in the long run, and how many may come at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Spreads takers in time. Each is told how long to wait; those who come while others wait are told to wait longer. */
export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #atMs: number | undefined;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /**
   * Takes one token and gives the milliseconds until it may be used. When that is more than `maxWaitMs`, takes nothing
   * and gives Infinity: those who do not wait must not make the others wait longer. `nowMs` is monotonic.
   */
  take(nowMs: number, maxWaitMs = Infinity): number {
    const { perSecond, burst } = this.#rate;
    const elapsedMs = nowMs - (this.#atMs ?? nowMs);
    this.#atMs = nowMs;
    this.#tokens = Math.min(burst, this.#tokens + (elapsedMs / 1_000) * perSecond);
    const waitMs = Math.max(0, ((1 - this.#tokens) / perSecond) * 1_000);
    if (waitMs > maxWaitMs) return Infinity;
    this.#tokens -= 1;
    return waitMs;
  }
}
