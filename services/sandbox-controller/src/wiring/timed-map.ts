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
  readonly #entries = new Map<string, { readonly value: V; readonly untilMs: number }>();

  constructor({ clock, max }: TimedMapOptions) {
    this.#clock = clock;
    this.#max = max;
  }

  set(key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + ttlMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#max && oldest !== undefined) this.#entries.delete(oldest);
  }

  get(key: string): V | undefined {
    return this.leftMs(key) === undefined ? undefined : this.#entries.get(key)?.value;
  }

  /** How much longer the entry is kept; undefined without one. */
  leftMs(key: string): number | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    const leftMs = found.untilMs - this.#clock.monotonic();
    if (leftMs > 0) return leftMs;
    this.#entries.delete(key);
    return undefined;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
