export interface WaitersDeps {
  /** How many candidates of the pool a claim could pick now. */
  readonly countAvailable: (poolUid: string) => number;
  /** It may be the claim's turn: it needs a pass. */
  readonly enqueue: (claimKey: string) => void;
}

interface Waiter {
  readonly poolUids: readonly string[];
  /** Enqueued for its turn, and no pass has looked at the stock since. */
  enqueued: boolean;
  /** Is trying to adopt a candidate, which no longer counts as available. */
  serving: boolean;
}

/**
 * Claims that wait for stock: first come, first served per pool. A claim keeps its place until it leaves, and no later claim
 * gets a candidate that an earlier one could adopt. In memory only: after a restart the claims queue again in the order of
 * their passes.
 */
export class Waiters {
  readonly #deps: WaitersDeps;
  readonly #waiters = new Map<string, Waiter>();
  /** Claim keys by pool, in the order in which they came. */
  readonly #queues = new Map<string, Set<string>>();

  constructor(deps: WaitersDeps) {
    this.#deps = deps;
  }

  /** Queues the claim for these pools. A claim that waits already keeps its place. */
  add(claimKey: string, poolUids: readonly string[]): void {
    for (const poolUid of this.#waiters.get(claimKey)?.poolUids ?? []) {
      if (!poolUids.includes(poolUid)) this.#leave(poolUid, claimKey);
    }
    this.#waiters.set(claimKey, { poolUids, enqueued: false, serving: false });
    for (const poolUid of poolUids) {
      const queue = this.#queues.get(poolUid) ?? new Set<string>();
      this.#queues.set(poolUid, queue.add(claimKey));
    }
  }

  /** How many claims wait for one of these pools, where most do. */
  count(poolUids: readonly string[]): number {
    return Math.max(0, ...poolUids.map((poolUid) => this.#queues.get(poolUid)?.size ?? 0));
  }

  /** Takes the claim out of every queue, and enqueues the claims that move up. */
  remove(claimKey: string): void {
    const waiter = this.#waiters.get(claimKey);
    if (waiter === undefined) return;
    this.#waiters.delete(claimKey);
    for (const poolUid of waiter.poolUids) {
      this.#leave(poolUid, claimKey);
      this.offer(poolUid);
    }
  }

  /** Whether the pool has a candidate for this claim after every earlier claim has got one. */
  mayAdopt(claimKey: string, poolUid: string): boolean {
    let left = this.#deps.countAvailable(poolUid);
    for (const ahead of left > 0 ? this.#waitersOf(poolUid) : []) {
      if (ahead === claimKey) break;
      left -= 1;
      if (left === 0) return false;
    }
    return left > 0;
  }

  /** Marks the time between the claim's pick of a candidate and the outcome. */
  setServing(claimKey: string, serving: boolean): void {
    const waiter = this.#waiters.get(claimKey);
    if (waiter !== undefined) waiter.serving = serving;
  }

  /** The pool has a new candidate: enqueues as many claims as it can serve, in their order. */
  offer(poolUid: string): void {
    let left = this.#deps.countAvailable(poolUid);
    for (const claimKey of left > 0 ? this.#waitersOf(poolUid) : []) {
      if (left === 0) return;
      left -= 1;
      const waiter = this.#waiters.get(claimKey);
      if (waiter === undefined || waiter.enqueued) continue;
      waiter.enqueued = true;
      this.#deps.enqueue(claimKey);
    }
  }

  *#waitersOf(poolUid: string): Iterable<string> {
    for (const claimKey of this.#queues.get(poolUid) ?? []) {
      if (this.#waiters.get(claimKey)?.serving === false) yield claimKey;
    }
  }

  #leave(poolUid: string, claimKey: string): void {
    const queue = this.#queues.get(poolUid);
    queue?.delete(claimKey);
    if (queue?.size === 0) this.#queues.delete(poolUid);
  }
}
