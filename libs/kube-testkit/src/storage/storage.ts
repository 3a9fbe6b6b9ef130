import type { ApiObject } from './api-object.ts';

/** A committed write. `previous` is the object before it. DELETED has the last state with the revision of the deletion. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly table: string;
  readonly key: string;
  readonly object: ApiObject;
  readonly previous: ApiObject | undefined;
}

type Table = ReadonlyMap<string, ApiObject>;

/** Number of changes kept for watches and old snapshots. When full, the older half is dropped, like a compaction in etcd. */
const LOG_LIMIT = 100_000;

/**
 * A synchronous replacement for etcd, with one revision counter and one log of changes for all tables. It replaces
 * objects and never changes them, so callers may keep them but must not write to them.
 */
export class Storage {
  #revision = 1;
  #log: Change[] = [];
  /** Revision before the first change in the log, the earliest one for snapshots and watches. */
  #logStart = 1;
  readonly #tables = new Map<string, Map<string, ApiObject>>();
  readonly #listeners = new Set<(change: Change) => void>();

  /** Revision of the last change in any table. */
  get revision(): number {
    return this.#revision;
  }

  /** The oldest revision for a list or watch. */
  get oldestRevision(): number {
    return this.#logStart;
  }

  table(table: string): Table {
    return this.#tables.get(table) ?? new Map<string, ApiObject>();
  }

  tables(): Iterable<[string, Table]> {
    return this.#tables.entries();
  }

  get(table: string, key: string): ApiObject | undefined {
    return this.#tables.get(table)?.get(key);
  }

  /** Creates or replaces an object and returns it with its new resourceVersion. */
  put(table: string, key: string, object: ApiObject): ApiObject {
    const previous = this.get(table, key);
    const stored = this.#stamp(object);
    const rows = this.#tables.get(table) ?? new Map<string, ApiObject>();
    this.#tables.set(table, rows.set(key, stored));
    this.#commit({ type: previous ? 'MODIFIED' : 'ADDED', table, key, object: stored, previous });
    return stored;
  }

  /** Removes an object and returns its last state with the revision of the deletion. Undefined when it did not exist. */
  remove(table: string, key: string): ApiObject | undefined {
    const previous = this.get(table, key);
    if (previous === undefined) return undefined;
    this.#tables.get(table)?.delete(key);
    const last = this.#stamp(previous);
    this.#commit({ type: 'DELETED', table, key, object: last, previous });
    return last;
  }

  /** The table at `revision`, undefined after its compaction. */
  snapshot(table: string, revision: number): Table | undefined {
    if (revision < this.#logStart) return undefined;
    const rows = new Map(this.table(table));
    for (const change of this.since(revision).reverse()) {
      if (change.table !== table) continue;
      if (change.previous === undefined) rows.delete(change.key);
      else rows.set(change.key, change.previous);
    }
    return rows;
  }

  /** Changes after `revision`, oldest first. The caller must check {@link oldestRevision}. */
  since(revision: number): Change[] {
    return this.#log.slice(Math.max(revision - this.#logStart, 0));
  }

  /** Drops every change so far, which expires all earlier resourceVersions. */
  compact(): void {
    this.#revision += 1;
    this.#log = [];
    this.#logStart = this.#revision;
  }

  /** Calls `listener` within every commit, in order. Listeners must not write. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #stamp(object: ApiObject): ApiObject {
    this.#revision += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #commit(change: Omit<Change, 'revision'>): void {
    const committed = { ...change, revision: this.#revision };
    this.#log.push(committed);
    if (this.#log.length > LOG_LIMIT) {
      this.#log = this.#log.slice(LOG_LIMIT / 2);
      this.#logStart += LOG_LIMIT / 2;
    }
    for (const listener of this.#listeners) listener(committed);
  }
}
