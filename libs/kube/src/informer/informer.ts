import { silentLogger, systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { formatLabel } from '../client/paths.ts';
import type { KubeClient, Selection } from '../client/types.ts';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics } from '../metrics.ts';
import { getKey } from '../objects/object.ts';
import type { KubeObject, Resource } from '../objects/object.ts';
import { Reflectors } from './reflectors.ts';
import { ObjectStore } from './store.ts';
import type { Indexers, Store, StoreChange } from './store.ts';
import { dropBulk } from './transform.ts';

/** A change of one object. `initial`: the object was in the first list, so it may have existed for a long time. */
export interface Change<T> extends StoreChange<T> {
  readonly initial: boolean;
}

/** Called after the store shows the change. Must not block: enqueue a key. The informer counts and logs exceptions. */
export type ChangeHandler<T> = (change: Change<T>) => void;

export interface InformerOptions<T extends KubeObject> extends Omit<Selection, 'namespace'> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  /** The namespaces to follow, each with lists and a watch of its own; at least one. Absent: all, with one watch. */
  readonly namespaces?: readonly string[] | undefined;
  readonly indexers?: Indexers<T> | undefined;
  /** Applied to every object before it is stored. Must not change its argument. Default {@link dropBulk}. */
  readonly transform?: ((object: T) => T) | undefined;
  /**
   * Makes the first list consistent as well: it shows everything committed before the request, not the cache of a lagging
   * API server. A manager lists again for a leader whose snapshot is older than its term, so that a new leader sees the
   * adoptions of the previous one (docs/reference/sandbox-claim.md#adoption).
   */
  readonly consistentFirstList?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: KubeMetrics | undefined;
  readonly log?: Logger | undefined;
}

/** A local copy of one collection that follows the API server while it runs. */
export interface Informer<T> {
  readonly store: Store<T>;
  readonly consistentFirstList: boolean;
  readonly indexNames: readonly string[];
  /** The values of the object in that index. The object need not be in the store. */
  indexValues(index: string, object: T): readonly string[];
  /** Applied to every object before it is stored. */
  transform(object: T): T;
  /**
   * Registers a handler until the result is disposed of. Before it returns, it calls the handler for the objects in the
   * store, as initial changes.
   */
  onChange(handler: ChangeHandler<T>): Disposable;
  /**
   * Registers a handler until the result is disposed of. The informer calls it after a list has replaced the store, or its
   * part in one namespace, and the change handlers have run. A list may skip versions: handlers see only the last of several
   * changes.
   */
  onList(handler: () => void): Disposable;
  /**
   * True once the first list of each namespace is in the store and all handlers have run. A namespace that the API server
   * forbids to list does not count, unless it forbids all.
   */
  hasSynced(): boolean;
  /**
   * The namespaces that the API server forbids to list: what the store shows of them is missing or old. The informer asks
   * again until it may.
   */
  listForbidden(): readonly string[];
  /** Resolves when `hasSynced()` is true. Rejects with the signal's reason if the signal aborts first. */
  waitUntilSynced(signal?: AbortSignal): Promise<void>;
  /**
   * Resolves when the store shows a consistent list that was requested at or after `sinceMs` (monotonic, default now), of
   * each namespace that the API server does not forbid.
   * Rejects with the signal's reason if the signal aborts first.
   */
  waitUntilFresh(options?: { sinceMs?: number | undefined; signal?: AbortSignal | undefined }): Promise<void>;
  /** Follows the server until the signal aborts. Retries after every failure and never rejects. Call it once. */
  run(signal: AbortSignal): Promise<void>;
  /** Milliseconds since the last event from the server. Bookmarks come about once per minute. */
  getLastEventAgeMs(): number;
}

export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  return new ReflectedInformer(options);
}

class ReflectedInformer<T extends KubeObject> implements Informer<T> {
  readonly store: ObjectStore<T>;
  readonly consistentFirstList: boolean;
  readonly indexNames: readonly string[];
  readonly #indexers: Indexers<T>;
  readonly #transform: (object: T) => T;
  readonly #reflectors: Reflectors<T>;
  /** Never changed in place, so a handler registered during a notification sees that object once, from the store. */
  #handlers: readonly ChangeHandler<T>[] = [];
  #listHandlers: readonly (() => void)[] = [];
  readonly #resource: string;
  readonly #clock: Clock;
  readonly #metrics: KubeMetrics;
  readonly #log: Logger;
  /** These two are read for every key of a controller and every request of a gateway, so they are kept. */
  #hasSynced = false;
  #forbidden: readonly string[] = [];
  #nextList = Promise.withResolvers<undefined>();

  constructor(options: InformerOptions<T>) {
    const { client, resource, namespaces, labelSelector, fieldSelector, transform = dropBulk } = options;
    const { clock = systemClock, random = systemRandom, metrics = noMetrics, log = silentLogger } = options;
    this.#indexers = options.indexers ?? {};
    this.#transform = transform;
    this.indexNames = Object.keys(this.#indexers);
    this.store = new ObjectStore(this.#indexers);
    this.consistentFirstList = options.consistentFirstList ?? false;
    this.#resource = formatLabel(resource);
    this.#clock = clock;
    this.#metrics = metrics;
    this.#log = log;
    this.#reflectors = new Reflectors({
      client,
      resource,
      namespaces,
      selection: { labelSelector, fieldSelector },
      consistentFirstList: this.consistentFirstList,
      transform,
      sinkOf: (namespace) => ({
        replace: (objects, initial) => this.#handleChanges(this.store.replace(objects, namespace), initial),
        set: (object) => this.#handleChanges(this.store.set(object), false),
        delete: (last) => this.#handleChanges(this.store.delete(getKey(last), last), false),
        end: (list) => this.#handleEnd(list),
      }),
      clock,
      random,
      metrics,
      log,
    });
    metrics.watchInformer(this.#resource, () => ({
      objects: this.store.size,
      lastEventAgeSeconds: this.getLastEventAgeMs() / 1_000,
    }));
  }

  indexValues(index: string, object: T): readonly string[] {
    return this.#indexers[index]?.(object) ?? [];
  }

  transform(object: T): T {
    return this.#transform(object);
  }

  onChange(handler: ChangeHandler<T>): Disposable {
    const own: ChangeHandler<T> = (change) => handler(change);
    this.#handlers = [...this.#handlers, own];
    for (const next of this.store.values()) {
      this.#notify(own, { key: getKey(next), old: undefined, next, initial: true });
    }
    return {
      [Symbol.dispose]: () => {
        this.#handlers = this.#handlers.filter((other) => other !== own);
      },
    };
  }

  onList(handler: () => void): Disposable {
    const own = (): void => handler();
    this.#listHandlers = [...this.#listHandlers, own];
    return {
      [Symbol.dispose]: () => {
        this.#listHandlers = this.#listHandlers.filter((other) => other !== own);
      },
    };
  }

  hasSynced(): boolean {
    return (this.#hasSynced ||= this.#reflectors.hasListed());
  }

  listForbidden(): readonly string[] {
    return this.#forbidden;
  }

  async waitUntilSynced(signal?: AbortSignal): Promise<void> {
    while (!this.hasSynced()) await this.#waitForNextList(signal);
  }

  async waitUntilFresh(
    options: { sinceMs?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const { sinceMs = this.#clock.monotonic(), signal } = options;
    this.#reflectors.relist(sinceMs);
    while (!this.#reflectors.isFresh(sinceMs)) await this.#waitForNextList(signal);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflectors.run(signal);
  }

  getLastEventAgeMs(): number {
    return this.#reflectors.lastEventAgeMs();
  }

  #handleEnd(list: 'listed' | 'forbidden'): void {
    this.#forbidden = this.#reflectors.listForbidden();
    if (list === 'listed') for (const handler of this.#listHandlers) this.#callHandler('', handler);
    this.#nextList.resolve(undefined);
    this.#nextList = Promise.withResolvers();
  }

  #handleChanges(changes: readonly StoreChange<T>[], initial: boolean): void {
    for (const change of changes) {
      for (const handler of this.#handlers) this.#notify(handler, { ...change, initial });
    }
  }

  #notify(handler: ChangeHandler<T>, change: Change<T>): void {
    this.#callHandler(change.key, () => handler(change));
  }

  #callHandler(key: string, handler: () => void): void {
    try {
      handler();
    } catch (err) {
      this.#metrics.countHandlerFailure(this.#resource);
      this.#log.error({ err, resource: this.#resource, key }, 'change handler threw');
    }
  }

  async #waitForNextList(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal?.reason as Error);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#nextList.promise, aborted.promise]);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }
}
