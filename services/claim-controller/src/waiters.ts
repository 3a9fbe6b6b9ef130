/** Claims that wait for a candidate, first come first served per pool. In memory only: each also looks again by itself. */
export class Waiters {
  readonly #byPool = new Map<string, Set<string>>();
  readonly #poolsOf = new Map<string, readonly string[]>();

  /** A claim that waits already keeps its place. */
  add(claimKey: string, poolUids: readonly string[]): void {
    this.#poolsOf.set(claimKey, poolUids);
    for (const poolUid of poolUids) {
      const queue = this.#byPool.get(poolUid) ?? new Set<string>();
      this.#byPool.set(poolUid, queue.add(claimKey));
    }
  }

  /** The claim that waited longest for this pool, taken out of the queue. */
  next(poolUid: string): string | undefined {
    const [claimKey] = this.#byPool.get(poolUid) ?? [];
    if (claimKey !== undefined) this.remove(claimKey);
    return claimKey;
  }

  remove(claimKey: string): void {
    for (const poolUid of this.#poolsOf.get(claimKey) ?? []) {
      const queue = this.#byPool.get(poolUid);
      queue?.delete(claimKey);
      if (queue?.size === 0) this.#byPool.delete(poolUid);
    }
    this.#poolsOf.delete(claimKey);
  }
}
