export interface StatusPaceOptions {
  readonly intervalMs: number;
  readonly monotonic: () => number;
}

/** Keeps a distance between the status writes of one object, so that a burst of claims costs few of them. */
export class StatusPace {
  readonly #writtenMs = new Map<string, number>();
  readonly #options: StatusPaceOptions;

  constructor(options: StatusPaceOptions) {
    this.#options = options;
  }

  /** Monotonic time from which the next write is due. */
  nextMs(key: string): number {
    return (this.#writtenMs.get(key) ?? -Infinity) + this.#options.intervalMs;
  }

  recordWrite(key: string): void {
    this.#writtenMs.set(key, this.#options.monotonic());
  }

  forget(key: string): void {
    this.#writtenMs.delete(key);
  }
}
