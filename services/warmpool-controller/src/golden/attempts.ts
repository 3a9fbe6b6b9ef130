/** When this process last tried to make the golden snapshot of each template. Times are monotonic. */
export class Attempts {
  readonly #last = new Map<string, { readonly name: string; readonly atMs: number }>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** An attempt at the snapshot of this name, for the template of this key, has begun. */
  record(key: string, name: string): void {
    this.#last.set(key, { name, atMs: this.#monotonic() });
  }

  /** Milliseconds until `intervalMs` have passed since the last attempt at this snapshot; 0 without one. */
  getWaitMs(key: string, name: string, intervalMs: number): number {
    const last = this.#last.get(key);
    return last?.name === name ? Math.max(0, last.atMs + intervalMs - this.#monotonic()) : 0;
  }

  forget(key: string): void {
    this.#last.delete(key);
  }
}
