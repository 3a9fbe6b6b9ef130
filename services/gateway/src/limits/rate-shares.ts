import { TokenBucket } from '@sandlot/std';
import type { TokenRate } from '@sandlot/std';

export interface Rates {
  readonly perSource: TokenRate;
  /** Of all sources together. */
  readonly total: TokenRate;
}

/** Whose rate is used up. */
export type UsedUp = 'source' | 'all';

/** A source whose bucket was forgotten has a full one again; the total bounds what so many sources get. */
const MAX_SOURCES = 10_000;

/**
 * Limits how often something is done for each source, and for all together. One source that exceeds its rate takes nothing
 * from the others.
 */
export class RateShares {
  readonly #rates: Rates;
  readonly #total: TokenBucket;
  /** The source that asked longest ago comes first. */
  readonly #bySource = new Map<string, TokenBucket>();

  constructor(rates: Rates) {
    this.#rates = rates;
    this.#total = new TokenBucket(rates.total);
  }

  /** Takes one turn for the source; says whose rate is used up when there is none. `nowMs` is monotonic. */
  take(source: string, nowMs: number): UsedUp | undefined {
    if (this.#getBucket(source).take(nowMs, 0) > 0) return 'source';
    return this.#total.take(nowMs, 0) > 0 ? 'all' : undefined;
  }

  /** Number of sources that are remembered. */
  get size(): number {
    return this.#bySource.size;
  }

  #getBucket(source: string): TokenBucket {
    const bucket = this.#bySource.get(source) ?? new TokenBucket(this.#rates.perSource);
    this.#bySource.delete(source);
    this.#bySource.set(source, bucket);
    const [oldest] = this.#bySource.keys();
    if (this.#bySource.size > MAX_SOURCES && oldest !== undefined) this.#bySource.delete(oldest);
    return bucket;
  }
}
