import type { Clock } from '@sandlot/std';
import { pacing } from './pacing.ts';

/**
 * Bounds the requests in flight of work that can wait. The bound rises while answers are fast and falls when they are slow.
 * A busy server serves each request in turn, so this work steps back before requests that clients wait for, whichever
 * process those come from.
 */
export class Gate {
  readonly #clock: Clock;
  /** In order of arrival. */
  readonly #waiting = new Set<() => void>();
  #inFlight = 0;
  #limit: number = pacing.backgroundGate.start;
  #usualMs: number | undefined;
  #answeredMs = 0;
  #isPausing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Requests that may be in flight now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Runs `send` in order of arrival. Rejects with the reason of the signal when that aborts first. */
  async pass<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#waitForTurn(signal);
    const sentMs = this.#clock.monotonic();
    try {
      return await send();
    } finally {
      this.#recordAnswer(this.#clock.monotonic() - sentMs);
      this.#inFlight -= 1;
      this.#admit();
    }
  }

  #waitForTurn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(enter);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        this.#waiting.delete(enter);
        signal.removeEventListener('abort', onAbort);
        this.#inFlight += 1;
        resolve();
      };
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(enter);
      this.#admit();
    });
  }

  #admit(): void {
    for (const enter of this.#waiting) {
      if (this.#isPausing || this.#inFlight >= this.limit) return;
      enter();
    }
  }

  #recordAnswer(tookMs: number): void {
    const { least, most, slowFactor, neverSlowMs, forgetMs, backOffFactor } = pacing.backgroundGate;
    const nowMs = this.#clock.monotonic();
    const usualMs = this.#usualMs ?? tookMs;
    // Slower answers become the usual ones in time: later than any burst ends, but a slower server is not slow for ever.
    const share = Math.min(1, (nowMs - this.#answeredMs) / forgetMs);
    this.#answeredMs = nowMs;
    this.#usualMs = tookMs < usualMs ? tookMs : usualMs + (tookMs - usualMs) * share;
    // A pause of our own process makes answers look slow, too.
    const isSlow = tookMs > Math.max(neverSlowMs, usualMs * slowFactor);
    if (isSlow && this.limit === least) this.#pause(tookMs);
    if (isSlow) this.#limit = Math.max(least, this.#limit * backOffFactor);
    else this.#limit = Math.min(most, this.#limit + 1 / this.#limit);
  }

  /** With one request at a time the bound cannot fall further, so the requests are spread in time. */
  #pause(tookMs: number): void {
    if (this.#isPausing) return;
    const { pauseFactor, longestPauseMs } = pacing.backgroundGate;
    this.#isPausing = true;
    this.#clock.setTimeout(
      () => {
        this.#isPausing = false;
        this.#admit();
      },
      Math.min(tookMs * pauseFactor, longestPauseMs),
    );
  }
}
