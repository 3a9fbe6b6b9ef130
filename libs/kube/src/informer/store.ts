import { getKey } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';

/** Names of indexes, and the functions that compute an object's values in them. */
export type Indexers<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

/**
 * The content of the API server as of the last event. Objects are shared: never change them. Iterators are live views:
 * finish them before the next `await`. The name of an unknown index throws.
 */
export interface Store<T> {
  get(key: string): T | undefined;
  listByIndex(index: string, value: string): Iterable<T>;
  /** The number of objects that `byIndex` yields. Takes constant time. */
  countIndex(index: string, value: string): number;
  values(): Iterable<T>;
  readonly size: number;
}

/** One change of a store. Without `old` it is an addition, without `next` a removal. */
export interface StoreChange<T> {
  readonly key: string;
  readonly old: T | undefined;
  readonly next: T | undefined;
  /**
   * Only for a removal that the watch reported: the object as it was when it was deleted, which may be newer than `old`.
   * Absent when a list lacked the object, because its changes after `old` are then unknown.
   */
  readonly last?: T | undefined;
}

/** The writable side of a {@link Store}. Every method keeps the indexes consistent and returns the changes. */
export class ObjectStore<T extends KubeObject> implements Store<T> {
  #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();

  constructor(indexers: Indexers<T> = {}) {
    for (const [name, valuesOf] of Object.entries(indexers)) this.#indexes.set(name, new Index(valuesOf));
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  *listByIndex(index: string, value: string): Iterable<T> {
    for (const key of this.#index(index).keys(value)) {
      const object = this.#objects.get(key);
      if (object !== undefined) yield object;
    }
  }

  countIndex(index: string, value: string): number {
    return this.#index(index).keys(value).size;
  }

  /** Adds or replaces one object. */
  set(object: T): readonly StoreChange<T>[] {
    const key = getKey(object);
    const old = this.#objects.get(key);
    // The same version again is not a change. It comes from a duplicate event or a watch that overlaps a list.
    if (old !== undefined && isSameVersion(old, object)) return [];
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) index.move(key, old, object);
    return listChanges(key, old, object);
  }

  /** `last` is the object as the API server reported its deletion. */
  delete(key: string, last?: T): readonly StoreChange<T>[] {
    const old = this.#objects.get(key);
    if (old === undefined) return [];
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.move(key, old, undefined);
    const isSame = last !== undefined && last.metadata.uid === old.metadata.uid;
    return [{ key, old, next: undefined, ...(isSame ? { last } : {}) }];
  }

  /** Replaces the content of the store, or its part in one namespace, with these objects and removes all others. */
  replace(objects: Iterable<T>, namespace?: string): readonly StoreChange<T>[] {
    const listed = new Map<string, T>();
    for (const object of objects) listed.set(getKey(object), object);
    const prefix = namespace === undefined ? '' : `${namespace}/`;
    const changes: StoreChange<T>[] = [];
    for (const key of [...this.#objects.keys()]) {
      if (key.startsWith(prefix) && !listed.has(key)) changes.push(...this.delete(key));
    }
    for (const object of listed.values()) changes.push(...this.set(object));
    return changes;
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`store has no index ${JSON.stringify(name)}`);
    return index;
  }
}

function isSameVersion(a: KubeObject, b: KubeObject): boolean {
  return (
    a.metadata.resourceVersion !== undefined &&
    a.metadata.resourceVersion === b.metadata.resourceVersion &&
    a.metadata.uid === b.metadata.uid
  );
}

/** A recreated object (same name, new uid) counts as a removal and an addition, so that handlers see the removal. */
function listChanges<T extends KubeObject>(
  key: string,
  old: T | undefined,
  next: T | undefined,
): readonly StoreChange<T>[] {
  if (old === undefined || next === undefined || old.metadata.uid === next.metadata.uid) return [{ key, old, next }];
  return [
    { key, old, next: undefined },
    { key, old: undefined, next },
  ];
}

const NO_KEYS: ReadonlySet<string> = new Set();

/** Keys by the values of one index. */
export class Index<T> {
  readonly #valuesOf: (object: T) => readonly string[];
  readonly #keys = new Map<string, Set<string>>();

  constructor(valuesOf: (object: T) => readonly string[]) {
    this.#valuesOf = valuesOf;
  }

  keys(value: string): ReadonlySet<string> {
    return this.#keys.get(value) ?? NO_KEYS;
  }

  move(key: string, old: T | undefined, next: T | undefined): void {
    const before = old === undefined ? [] : this.#valuesOf(old);
    const after = next === undefined ? [] : this.#valuesOf(next);
    for (const value of before) if (!after.includes(value)) this.#remove(value, key);
    for (const value of after) this.#add(value, key);
  }

  #add(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, new Set([key]));
    else keys.add(key);
  }

  #remove(value: string, key: string): void {
    const keys = this.#keys.get(value);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(value);
  }
}
