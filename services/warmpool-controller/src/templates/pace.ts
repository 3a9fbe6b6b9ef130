/** Counts of pools change with every adoption; a status for each would cost more than the adoptions. Milliseconds. */
const INTERVAL_MS = 1_000;

/** When the status of each template was last written. */
export class Pace {
  readonly #writtenMs = new Map<string, number>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Milliseconds until counts may be written; 0 when they may be now. */
  waitMs(key: string): number {
    const written = this.#writtenMs.get(key);
    return written === undefined ? 0 : Math.max(0, written + INTERVAL_MS - this.#monotonic());
  }

  written(key: string): void {
    this.#writtenMs.set(key, this.#monotonic());
  }

  forget(key: string): void {
    this.#writtenMs.delete(key);
  }
}
