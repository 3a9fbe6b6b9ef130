import type { Clock } from '@sandlot/std';
import { ExpiringMap } from '../limits/expiring-map.ts';
import { ConcurrencyLimit } from '../limits/concurrency-limit.ts';

/** How long a request waits for the watch to show its sandbox. The watch lags by milliseconds, by more in a burst. */
const LAG_MS = 1_000;
/** How long a request for an id that did not appear makes others for the same id wait no more. */
const MISSING_MS = 5_000;
/** How long the gateway remembers that the watch showed the end of a sandbox. */
const DELETED_MS = 600_000;
const MAX_IDS = 10_000;
const MAX_WAITING = 1_000;
/** Requests of one source that wait. */
const MAX_PER_SOURCE = 20;

export interface UnknownIdsOptions {
  readonly clock: Clock;
  readonly hasId: (id: string) => boolean;
  /** Calls `changed` when the id may have appeared. */
  readonly watch: (id: string, changed: () => void) => Disposable;
}

/** How a wait ends; `missing` at once when the gateway knows that the id is gone. */
export type Appearance = 'shown' | 'missing' | 'source-full' | 'full';

/**
 * Requests for ids that the watch has not shown. A client may know of a claim before the watch shows it, so its request waits a
 * moment. No request costs the API server anything, whatever ids clients make up.
 */
export class UnknownIds {
  readonly #o: UnknownIdsOptions;
  readonly #missing = new ExpiringMap<true>(MAX_IDS);
  readonly #deleted = new ExpiringMap<true>(MAX_IDS);
  readonly #perSource = new ConcurrencyLimit(MAX_PER_SOURCE);
  readonly #all = new ConcurrencyLimit(MAX_WAITING);

  constructor(options: UnknownIdsOptions) {
    this.#o = options;
  }

  /** Waits until the watch shows the id, but not for long. */
  async waitFor(id: string, source: string): Promise<Appearance> {
    const nowMs = this.#o.clock.monotonic();
    if (this.#deleted.get(id, nowMs) !== undefined || this.#missing.get(id, nowMs) !== undefined) return 'missing';
    if (!this.#perSource.enter(source)) return 'source-full';
    try {
      if (!this.#all.enter('')) return 'full';
      try {
        return (await this.#watchFor(id)) ? 'shown' : this.#recordMissing(id);
      } finally {
        this.#all.leave('');
      }
    } finally {
      this.#perSource.leave(source);
    }
  }

  /** The watch shows that the last sandbox of this id was deleted, so no request waits for it. */
  recordDeleted(id: string): void {
    this.#deleted.set(id, true, this.#o.clock.monotonic() + DELETED_MS);
  }

  /** The watch shows the id. */
  recordShown(id: string): void {
    this.#deleted.delete(id);
    this.#missing.delete(id);
  }

  #watchFor(id: string): Promise<boolean> {
    const { hasId, watch, clock } = this.#o;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const watching = watch(id, () => {
      if (hasId(id)) resolve(true);
    });
    const timer = clock.setTimeout(() => resolve(hasId(id)), LAG_MS);
    return promise.finally(() => {
      watching[Symbol.dispose]();
      timer.cancel();
    });
  }

  #recordMissing(id: string): 'missing' {
    this.#missing.set(id, true, this.#o.clock.monotonic() + MISSING_MS);
    return 'missing';
  }
}
