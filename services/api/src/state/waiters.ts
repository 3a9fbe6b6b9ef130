import type { Clock } from '@sandlot/std';

export interface WaitOptions<T> {
  /** Names of the things whose changes cause another look. */
  readonly keys: readonly string[];
  /** Returns the awaited value, or undefined to keep waiting. A throw ends the wait with that error. */
  readonly look: () => T | undefined;
  readonly timeoutMs: number;
  /** Ends the wait early, without a result. */
  readonly signal?: AbortSignal | undefined;
}

/** Requests that wait for an object to change. A waiter does not poll: it looks again when a watch event or a hint arrives. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes every waiter of that key look again. */
  notify(key: string): void {
    for (const look of [...(this.#waiting.get(key) ?? [])]) look();
  }

  isAwaited(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** Resolves with the first result of `look`, which is tried at once; with undefined on timeout or abort. */
  async waitUntil<T>({ keys, look, timeoutMs, signal }: WaitOptions<T>): Promise<T | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    const attempt = (): void => {
      try {
        const found = look();
        if (found !== undefined) resolve(found);
      } catch (error) {
        reject(error);
      }
    };
    const stop = (): void => resolve(undefined);
    const timer = this.#clock.setTimeout(stop, Math.max(0, timeoutMs));
    signal?.addEventListener('abort', stop, { once: true });
    for (const key of keys) this.#add(key, attempt);
    try {
      attempt();
      if (signal?.aborted === true) stop();
      return await promise;
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', stop);
      for (const key of keys) this.#remove(key, attempt);
    }
  }

  #add(key: string, look: () => void): void {
    const looks = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, looks.add(look));
  }

  #remove(key: string, look: () => void): void {
    const looks = this.#waiting.get(key);
    looks?.delete(look);
    if (looks?.size === 0) this.#waiting.delete(key);
  }
}
