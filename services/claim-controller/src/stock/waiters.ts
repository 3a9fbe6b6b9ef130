export interface WaitersDeps {
  /** Candidates of a pool that could be picked now. */
  readonly available: (poolUid: string) => number;
  /** The claim's turn may have come: it has to be looked at. */
  readonly enqueue: (claimKey: string) => void;
}

interface Waiter {
  readonly poolUids: readonly string[];
  /** Has been told and has not looked yet. */
  woken: boolean;
  /** Holds a candidate that it is trying to commit, which no longer counts as available. */
  serving: boolean;
}

/**
 * Claims that wait for a candidate: first come, first served per pool. A claim keeps its place until it leaves, and
 * nobody who comes later is offered a candidate that those before could take. In memory only: after a restart claims
 * line up again in the order in which they are looked at.
 */
export class Waiters {
  readonly #deps: WaitersDeps;
  readonly #waiters = new Map<string, Waiter>();
  /** Claim keys by pool, in the order in which they came. */
  readonly #queues = new Map<string, Set<string>>();

  constructor(deps: WaitersDeps) {
    this.#deps = deps;
  }

  /** A claim that waits already keeps its place. */
  add(claimKey: string, poolUids: readonly string[]): void {
    for (const poolUid of this.#waiters.get(claimKey)?.poolUids ?? []) {
      if (!poolUids.includes(poolUid)) this.#leave(poolUid, claimKey);
    }
    this.#waiters.set(claimKey, { poolUids, woken: false, serving: false });
    for (const poolUid of poolUids) {
      const queue = this.#queues.get(poolUid) ?? new Set<string>();
      this.#queues.set(poolUid, queue.add(claimKey));
    }
  }

  /** Leaves every queue; who is next is told of what the claim leaves to them. */
  remove(claimKey: string): void {
    const waiter = this.#waiters.get(claimKey);
    if (waiter === undefined) return;
    this.#waiters.delete(claimKey);
    for (const poolUid of waiter.poolUids) {
      this.#leave(poolUid, claimKey);
      this.arrived(poolUid);
    }
  }

  /** Whether the pool has a candidate for this claim after all that came before it are served. */
  mayAdopt(claimKey: string, poolUid: string): boolean {
    let left = this.#deps.available(poolUid);
    for (const ahead of left > 0 ? this.#waitingFor(poolUid) : []) {
      if (ahead === claimKey) break;
      left -= 1;
      if (left === 0) return false;
    }
    return left > 0;
  }

  /** Between the pick of a candidate and its fate. */
  setServing(claimKey: string, serving: boolean): void {
    const waiter = this.#waiters.get(claimKey);
    if (waiter !== undefined) waiter.serving = serving;
  }

  /** The pool has a candidate more: as many claims as it can serve are told, in their order. */
  arrived(poolUid: string): void {
    let left = this.#deps.available(poolUid);
    for (const claimKey of left > 0 ? this.#waitingFor(poolUid) : []) {
      if (left === 0) return;
      left -= 1;
      const waiter = this.#waiters.get(claimKey);
      if (waiter === undefined || waiter.woken) continue;
      waiter.woken = true;
      this.#deps.enqueue(claimKey);
    }
  }

  *#waitingFor(poolUid: string): Iterable<string> {
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
