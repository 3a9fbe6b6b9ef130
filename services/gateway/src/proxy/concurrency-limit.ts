/** How many of something each key has at a time, up to a limit. Keys without any take no memory. */
export class Counters {
  readonly limit: number;
  readonly #counts = new Map<string, number>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Takes one place; false when all are taken. Give it back by {@link leave}. */
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

  /** Keys that have at least one. */
  get size(): number {
    return this.#counts.size;
  }
}
