import type { ChangeHandler, Informer } from '../src/informer/informer.ts';
import { ObjectStore } from '../src/informer/store.ts';
import type { Indexers, StoreChange } from '../src/informer/store.ts';
import { getKey } from '../src/objects/object.ts';
import type { KubeObject } from '../src/objects/object.ts';

type Scripted<T> = Pick<Informer<T>, 'store' | 'indexNames' | 'indexValues' | 'transform' | 'onChange' | 'onList'>;

/** An informer without a server: the test says what its watch and its lists show. */
export class ScriptedInformer<T extends KubeObject> implements Scripted<T> {
  readonly store: ObjectStore<T>;
  readonly indexNames: readonly string[];
  readonly #indexers: Indexers<T>;
  readonly #onChange = new Set<ChangeHandler<T>>();
  readonly #onList = new Set<() => void>();

  constructor(indexers: Indexers<T> = {}) {
    this.#indexers = indexers;
    this.indexNames = Object.keys(indexers);
    this.store = new ObjectStore(indexers);
  }

  indexValues(index: string, object: T): readonly string[] {
    return this.#indexers[index]?.(object) ?? [];
  }

  transform(object: T): T {
    return object;
  }

  onChange(handler: ChangeHandler<T>): Disposable {
    this.#onChange.add(handler);
    return { [Symbol.dispose]: () => void this.#onChange.delete(handler) };
  }

  onList(handler: () => void): Disposable {
    this.#onList.add(handler);
    return { [Symbol.dispose]: () => void this.#onList.delete(handler) };
  }

  /** The watch shows these versions, one after the other. */
  shows(...objects: readonly T[]): void {
    for (const object of objects) this.#notify(this.store.set(object));
  }

  /** The watch shows the end of this object. */
  showsEnd(object: T): void {
    this.#notify(this.store.delete(getKey(object), object));
  }

  /** A list replaces all that was shown. */
  lists(...objects: readonly T[]): void {
    this.#notify(this.store.replace(objects));
    for (const handler of this.#onList) handler();
  }

  #notify(changes: readonly StoreChange<T>[]): void {
    for (const change of changes) for (const handler of this.#onChange) handler({ ...change, initial: false });
  }
}
