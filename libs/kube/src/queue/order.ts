import TinyQueue from 'tinyqueue';

/**
 * Which of the waiting keys is next. The queue gives every key at most once until it has popped it, so that an order
 * (by priority, fair between namespaces, ...) is free of everything else a queue does.
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

/** Higher priority first; first come, first served within a priority. A raised key keeps the turn it came at. */
export class PriorityOrder implements QueueOrder {
  /** May hold entries that a raise has replaced; `#entries` knows the valid ones. */
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
