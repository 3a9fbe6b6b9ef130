import type { Clock } from '@sandlot/std';

const LEAST = 1;
const MOST = 32;
const START = 4;

/** An answer that takes so many times the usual says that the server has more to do than it can. */
const SLOW_FACTOR = 3;
/** What is never slow, milliseconds: a pause of our own process looks the same. */
const NEVER_SLOW_MS = 25;
/** How long until slower answers are the usual ones: longer than any burst, but a slower server is not slow for ever. */
const FORGET_MS = 30_000;
/** What is left of the limit after a slow answer. */
const BACK_OFF = 0.5;
/** With one request at a time, and that slow: a pause of so many times what it took, and of no more than this. */
const PAUSE_FACTOR = 3;
const LONGEST_PAUSE_MS = 500;

/**
 * Bounds the requests in flight of work that can wait. The bound rises while answers come as fast as they can and falls
 * when they do not, so that on a busy server this work steps back before what somebody waits for, whichever process that
 * comes from: a server that is short of time gives it out by the request.
 */
export class Gate {
  readonly #clock: Clock;
  /** In order of arrival. */
  readonly #waiting = new Set<() => void>();
  #inFlight = 0;
  #limit = START;
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

  /** Runs `send` when its turn has come, in order of arrival. Rejects with the reason of the signal when that aborts first. */
  async pass<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal);
    const sentMs = this.#clock.monotonic();
    try {
      return await send();
    } finally {
      this.#answered(this.#clock.monotonic() - sentMs);
      this.#inFlight -= 1;
      this.#admit();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
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

  #answered(tookMs: number): void {
    const nowMs = this.#clock.monotonic();
    const usualMs = this.#usualMs ?? tookMs;
    const share = Math.min(1, (nowMs - this.#answeredMs) / FORGET_MS);
    this.#answeredMs = nowMs;
    this.#usualMs = tookMs < usualMs ? tookMs : usualMs + (tookMs - usualMs) * share;
    const isSlow = tookMs > Math.max(NEVER_SLOW_MS, usualMs * SLOW_FACTOR);
    if (isSlow && this.limit === LEAST) this.#pause(tookMs);
    if (isSlow) this.#limit = Math.max(LEAST, this.#limit * BACK_OFF);
    else this.#limit = Math.min(MOST, this.#limit + 1 / this.#limit);
  }

  #pause(tookMs: number): void {
    if (this.#isPausing) return;
    this.#isPausing = true;
    this.#clock.setTimeout(
      () => {
        this.#isPausing = false;
        this.#admit();
      },
      Math.min(tookMs * PAUSE_FACTOR, LONGEST_PAUSE_MS),
    );
  }
}
