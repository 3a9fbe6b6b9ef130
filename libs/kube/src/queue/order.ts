import TinyQueue from 'tinyqueue';

/**
 * Decides which waiting key is next, for example by priority or fairly between namespaces. The queue pushes a key only
 * while it is not in the order.
 */
export interface QueueOrder {
  push(key: string, priority: number): void;
  /** Changes the priority of a key that is waiting. */
  raise(key: string, priority: number): void;
  pop(): string | undefined;
  readonly size: number;
}

interface Entry {
  readonly key: string;
  readonly priority: number;
  readonly turn: number;
}

/** Higher priorities first, and order of arrival within a priority. A raised key keeps its time of arrival. */
export class PriorityOrder implements QueueOrder {
  /** May contain entries that `raise` has replaced. The valid ones are in `#entries`. */
  readonly #queue = new TinyQueue<Entry>([], (a, b) => b.priority - a.priority || a.turn - b.turn);
  readonly #entries = new Map<string, Entry>();
  #turn = 0;

  get size(): number {
    return this.#entries.size;
  }

  push(key: string, priority: number): void {
    this.#enter({ key, priority, turn: this.#turn++ });
  }

  raise(key: string, priority: number): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#enter({ ...entry, priority });
  }

  pop(): string | undefined {
    for (let entry = this.#queue.pop(); entry !== undefined; entry = this.#queue.pop()) {
      if (this.#entries.get(entry.key) !== entry) continue;
      this.#entries.delete(entry.key);
      return entry.key;
    }
    return undefined;
  }

  #enter(entry: Entry): void {
    this.#entries.set(entry.key, entry);
    this.#queue.push(entry);
  }
}
