/**
 * The warm Sandboxes that claims may adopt, per pool. Watch events keep it up to date, so that a pick costs O(1) and no
 * claim scans a pool. It holds only what the choice needs; the Sandboxes stay in the informer's store.
 */

/** One warm member of a pool, as far as the choice needs it. */
export interface Candidate {
  /** `namespace/name` of the Sandbox. */
  readonly key: string;
  readonly poolUid: string;
  /** Node of its pod; empty while unknown. */
  readonly node: string;
  readonly ready: boolean;
  /** Has an address. Without one the member counts as warming, and no claim may adopt it yet. */
  readonly addressed: boolean;
  /** Built from the template as it is now. */
  readonly current: boolean;
}

/** Best first: Ready before not Ready, then current before stale (docs/reference/sandbox-claim.md#adoption). */
const TIERS = 4;

function getTier(candidate: Candidate): number {
  return (candidate.ready ? 0 : 2) + (candidate.current ? 0 : 1);
}

/** Whether a change leaves the candidate in its place, so that the oldest stays first. */
function isSamePlace(a: Candidate, b: Candidate): boolean {
  return a.poolUid === b.poolUid && a.node === b.node && getTier(a) === getTier(b);
}

/** Candidates of one tier, bucketed by node, and nodes bucketed by how many candidates they hold. */
class NodeBuckets {
  readonly #byNode = new Map<string, Map<string, Candidate>>();
  /** Index n holds the nodes with exactly n candidates. */
  readonly #nodesByCount: Set<string>[] = [];
  /** Never below the highest non-empty bucket: inserts raise it, reads lower it. */
  #highest = 0;

  add(candidate: Candidate): void {
    let onNode = this.#byNode.get(candidate.node);
    if (onNode === undefined) {
      onNode = new Map<string, Candidate>();
      this.#byNode.set(candidate.node, onNode);
    }
    const before = onNode.size;
    onNode.set(candidate.key, candidate);
    this.#move(candidate.node, before, onNode.size);
  }

  remove(candidate: Candidate): void {
    const onNode = this.#byNode.get(candidate.node);
    if (onNode?.delete(candidate.key) !== true) return;
    this.#move(candidate.node, onNode.size + 1, onNode.size);
    if (onNode.size === 0) this.#byNode.delete(candidate.node);
  }

  /** The oldest candidate of a node with the most candidates: this spreads the remaining stock over the nodes. */
  first(): Candidate | undefined {
    while (this.#highest > 0 && (this.#nodesByCount[this.#highest]?.size ?? 0) === 0) this.#highest -= 1;
    const [node] = this.#nodesByCount[this.#highest] ?? [];
    if (node === undefined) return undefined;
    const [candidate] = this.#byNode.get(node)?.values() ?? [];
    return candidate;
  }

  #move(node: string, from: number, to: number): void {
    if (from === to) return;
    this.#nodesByCount[from]?.delete(node);
    if (to === 0) return;
    (this.#nodesByCount[to] ??= new Set()).add(node);
    this.#highest = Math.max(this.#highest, to);
  }
}

class PoolStock {
  readonly tiers = Array.from({ length: TIERS }, () => new NodeBuckets());
  size = 0;
}

/**
 * Candidates of every pool. A pick reserves the candidate: no other claim gets it until it is released, or until the watch
 * shows that it is no candidate any more. Reservations only avoid conflicts; the guarded patch decides.
 */
export class Stock {
  readonly #pools = new Map<string, PoolStock>();
  readonly #candidates = new Map<string, Candidate>();
  readonly #reserved = new Map<string, Candidate>();
  /** Members without an address, by key, and how many each pool has. */
  readonly #warming = new Map<string, string>();
  readonly #warmingCount = new Map<string, number>();
  readonly #onAvailable: (poolUid: string) => void;

  /** `onAvailable`: the pool has a new candidate, or a better one than before. */
  constructor(onAvailable: (poolUid: string) => void = () => undefined) {
    this.#onAvailable = onAvailable;
  }

  /** Takes in a change of a Sandbox; `candidate` is undefined when it is gone or is no candidate any more. */
  observe(key: string, candidate: Candidate | undefined): void {
    this.#countWarming(key, candidate?.addressed === false ? candidate.poolUid : undefined);
    if (candidate?.addressed !== true) {
      this.#reserved.delete(key);
      this.#remove(key);
      return;
    }
    if (this.#reserved.has(key)) {
      this.#reserved.set(key, candidate);
      return;
    }
    const known = this.#candidates.get(key);
    if (known !== undefined && isSamePlace(known, candidate)) return;
    this.#remove(key);
    this.#insert(candidate);
  }

  /** Reserves and returns the best candidate of these pools; undefined when they have none. */
  pick(poolUids: Iterable<string>): Candidate | undefined {
    const best = this.#best([...poolUids]);
    if (best === undefined) return undefined;
    this.#remove(best.key);
    this.#reserved.set(best.key, best);
    return best;
  }

  /** Reserves this candidate; does nothing when the Sandbox is none. */
  reserve(key: string): void {
    const candidate = this.#candidates.get(key);
    if (candidate === undefined) return;
    this.#remove(key);
    this.#reserved.set(key, candidate);
  }

  /** Ends the reservation; does nothing when the watch has removed the candidate meanwhile. */
  release(key: string): void {
    const candidate = this.#reserved.get(key);
    if (candidate === undefined) return;
    this.#reserved.delete(key);
    this.#insert(candidate);
  }

  /** How many candidates a claim could pick now. */
  available(poolUid: string): number {
    return this.#pools.get(poolUid)?.size ?? 0;
  }

  /** How many members exist but have no address yet. */
  warming(poolUid: string): number {
    return this.#warmingCount.get(poolUid) ?? 0;
  }

  #countWarming(key: string, poolUid: string | undefined): void {
    const before = this.#warming.get(key);
    if (before === poolUid) return;
    if (before !== undefined) this.#addWarming(before, -1);
    if (poolUid === undefined) {
      this.#warming.delete(key);
      return;
    }
    this.#warming.set(key, poolUid);
    this.#addWarming(poolUid, 1);
  }

  #addWarming(poolUid: string, change: number): void {
    const count = this.warming(poolUid) + change;
    if (count === 0) this.#warmingCount.delete(poolUid);
    else this.#warmingCount.set(poolUid, count);
  }

  #best(poolUids: readonly string[]): Candidate | undefined {
    for (let tier = 0; tier < TIERS; tier += 1) {
      for (const poolUid of poolUids) {
        const candidate = this.#pools.get(poolUid)?.tiers[tier]?.first();
        if (candidate !== undefined) return candidate;
      }
    }
    return undefined;
  }

  #insert(candidate: Candidate): void {
    let pool = this.#pools.get(candidate.poolUid);
    if (pool === undefined) this.#pools.set(candidate.poolUid, (pool = new PoolStock()));
    this.#candidates.set(candidate.key, candidate);
    pool.tiers[getTier(candidate)]?.add(candidate);
    pool.size += 1;
    this.#onAvailable(candidate.poolUid);
  }

  #remove(key: string): void {
    const candidate = this.#candidates.get(key);
    if (candidate === undefined) return;
    this.#candidates.delete(key);
    const pool = this.#pools.get(candidate.poolUid);
    pool?.tiers[getTier(candidate)]?.remove(candidate);
    if (pool !== undefined && (pool.size -= 1) === 0) this.#pools.delete(candidate.poolUid);
  }
}
