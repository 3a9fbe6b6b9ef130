import type { Clock } from '@sandlot/std';

export interface TimedMapOptions {
  readonly clock: Clock;
  /** Entries beyond this push out the oldest ones. */
  readonly max: number;
}

/**
 * What a process remembers for a while and may forget at any time: bounded in time and in number, and never needed for
 * correctness. Times are monotonic milliseconds.
 */
export class TimedMap<V> {
  readonly #clock: Clock;
  readonly #max: number;
  /** Oldest first. */
  readonly #entries = new Map<string, { readonly value: V; readonly untilMs: number }>();

  constructor({ clock, max }: TimedMapOptions) {
    this.#clock = clock;
    this.#max = max;
  }

  set(key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + ttlMs });
    this.#dropOldest();
  }

  get(key: string): V | undefined {
    return this.leftMs(key) === undefined ? undefined : this.#entries.get(key)?.value;
  }

  /** How many milliseconds the entry is still kept; undefined without one. */
  leftMs(key: string): number | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    const leftMs = found.untilMs - this.#clock.monotonic();
    return leftMs > 0 ? leftMs : undefined;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** The oldest entries, while they have expired or there are too many. */
  #dropOldest(): void {
    const nowMs = this.#clock.monotonic();
    for (const [key, { untilMs }] of this.#entries) {
      if (untilMs > nowMs && this.#entries.size <= this.#max) return;
      this.#entries.delete(key);
    }
  }
}
