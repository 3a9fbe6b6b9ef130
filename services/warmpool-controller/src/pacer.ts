/** Counts change with every adoption; a status per change would cost more than the adoptions. */
const INTERVAL_MS = 250;

/** Keeps status writes of one pool apart, so that a burst of claims costs a few of them. */
export class StatusPacer {
  readonly #wroteAtMs = new Map<string, number>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Milliseconds until the next write may be made; 0 when it may be now. */
  waitMs(key: string): number {
    const wroteAtMs = this.#wroteAtMs.get(key);
    return wroteAtMs === undefined ? 0 : Math.max(0, wroteAtMs + INTERVAL_MS - this.#monotonic());
  }

  wrote(key: string): void {
    this.#wroteAtMs.set(key, this.#monotonic());
  }

  forget(key: string): void {
    this.#wroteAtMs.delete(key);
  }
}
