import { keyOf } from '@sandlot/kube';
import type { Informer, KubeObject } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';

/** How long an answer of the API server counts for more than a watch that has not shown it. */
const KEPT_MS = 5_000;
const MAX_KEPT = 10_000;

interface Kept<T> {
  readonly object: T | undefined;
  readonly uid: string;
  readonly untilMs: number;
}

/**
 * The objects of an informer, ahead of it by what this process has itself written or read since: whoever got an answer must
 * find it in the next one (E2B contract, read-after-write). A watch that lags for longer than 5 s is believed again.
 */
export class Fresh<T extends KubeObject> {
  readonly #informer: Informer<T>;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept<T>>();
  /** Versions that the watch has shown while a call about that key runs. */
  readonly #calls = new Map<string, Set<Set<string>>>();

  constructor(informer: Informer<T>, clock: Clock) {
    this.#informer = informer;
    this.#clock = clock;
    informer.onChange(({ key, next }) => this.#shown(key, next));
  }

  get(key: string): T | undefined {
    const kept = this.#current(key);
    const shown = this.#informer.store.get(key);
    // What was made after that under the same name is not ours to hide.
    if (kept === undefined || (shown !== undefined && shown.metadata.uid !== kept.uid)) return shown;
    return kept.object;
  }

  /** Objects under an index of the informer; those that are kept count for all values that `fits` lets through. */
  *all(index: readonly [name: string, value: string], fits: (object: T) => boolean): Iterable<T> {
    for (const shown of this.#informer.store.byIndex(...index)) {
      const object = this.get(keyOf(shown));
      if (object !== undefined) yield object;
    }
    for (const [key, { object }] of this.#kept) {
      if (object === undefined || this.#current(key) === undefined || !fits(object)) continue;
      if (this.#informer.store.get(key) === undefined) yield object;
    }
  }

  /** Runs a write or a consistent read of one object and keeps its answer until the watch shows it. */
  async through(key: string, call: () => Promise<T>): Promise<T> {
    const seen = new Set([this.#informer.store.get(key)?.metadata.resourceVersion ?? '']);
    const running = this.#calls.get(key) ?? new Set();
    this.#calls.set(key, running.add(seen));
    try {
      const object = await call();
      const { uid = '', resourceVersion = '' } = object.metadata;
      if (!seen.has(resourceVersion)) this.#keep(key, { object, uid });
      return object;
    } finally {
      running.delete(seen);
      if (running.size === 0) this.#calls.delete(key);
    }
  }

  /** It is gone, whatever the watch says for a while. */
  gone(object: T): void {
    if (this.#informer.store.get(keyOf(object)) === undefined) this.#kept.delete(keyOf(object));
    else this.#keep(keyOf(object), { object: undefined, uid: object.metadata.uid ?? '' });
  }

  #current(key: string): Kept<T> | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined || kept.untilMs > this.#clock.monotonic()) return kept;
    this.#kept.delete(key);
    return undefined;
  }

  #keep(key: string, { object, uid }: Pick<Kept<T>, 'object' | 'uid'>): void {
    this.#kept.delete(key);
    this.#kept.set(key, { object, uid, untilMs: this.#clock.monotonic() + KEPT_MS });
    const [oldest = ''] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
  }

  #shown(key: string, next: T | undefined): void {
    const version = next?.metadata.resourceVersion ?? '';
    for (const seen of this.#calls.get(key) ?? []) seen.add(version);
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    const isCaughtUp = next === undefined || kept.object?.metadata.resourceVersion === version;
    if (isCaughtUp || next.metadata.uid !== kept.uid) this.#kept.delete(key);
  }
}
