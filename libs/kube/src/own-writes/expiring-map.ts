import type { Clock, Timer } from '@sandlot/std';

export interface ExpiringMapOptions<V> {
  readonly clock: Clock;
  readonly keepMs: number;
  readonly maxSize: number;
  /** Called for an entry that has just been dropped: its time is over, or too many came after it. */
  readonly onExpired: (key: string, value: V) => void;
}

/** A map whose entries all live for the same time, so that the oldest one expires first; one timer serves all of them. */
export class ExpiringMap<V> {
  readonly #options: ExpiringMapOptions<V>;
  readonly #entries = new Map<string, { value: V; readonly untilMs: number }>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: ExpiringMapOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** Adds or replaces an entry; its time begins now. */
  set(key: string, value: V): void {
    const { clock, keepMs, maxSize } = this.#options;
    this.#entries.delete(key);
    this.#entries.set(key, { value, untilMs: clock.monotonic() + keepMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > maxSize && oldest !== undefined) this.#drop(oldest);
    if (!this.#isClosed) this.#timer ??= clock.setTimeout(() => this.#expire(), keepMs);
  }

  /** Replaces the value of an entry, which expires when it would have. */
  update(key: string, value: V): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.value = value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Ends the timer: from now on entries expire only because newer ones come. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #expire(): void {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    for (const [key, { untilMs }] of this.#entries) {
      if (untilMs > nowMs) break;
      this.#drop(key);
    }
    const [next] = this.#entries.values();
    this.#timer =
      next === undefined || this.#isClosed ? undefined : clock.setTimeout(() => this.#expire(), next.untilMs - nowMs);
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#options.onExpired(key, entry.value);
  }
}
