/** Each adoption changes counts of a pool; a status write for each would cost more than the adoptions. Milliseconds. */
const INTERVAL_MS = 1_000;

/** When the status of each template was last written. */
export class StatusPace {
  readonly #writtenMs = new Map<string, number>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Monotonic time from which changed counts may be written. */
  nextMs(key: string): number {
    return (this.#writtenMs.get(key) ?? -Infinity) + INTERVAL_MS;
  }

  recordWrite(key: string): void {
    this.#writtenMs.set(key, this.#monotonic());
  }

  forget(key: string): void {
    this.#writtenMs.delete(key);
  }
}
