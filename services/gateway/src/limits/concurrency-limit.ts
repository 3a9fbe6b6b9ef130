/** Limits how many exchanges each key has open at a time. A key without any takes no memory. */
export class ConcurrencyLimit {
  readonly limit: number;
  readonly #counts = new Map<string, number>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Takes one place; false when the key has none left. The caller gives the place back with {@link leave}. */
  enter(key: string): boolean {
    const count = this.#counts.get(key) ?? 0;
    if (count >= this.limit) return false;
    this.#counts.set(key, count + 1);
    return true;
  }

  leave(key: string): void {
    const count = this.#counts.get(key) ?? 0;
    if (count > 1) this.#counts.set(key, count - 1);
    else this.#counts.delete(key);
  }
}
