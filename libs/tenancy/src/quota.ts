import { secondsUntil, tokensAt } from '@sandlot/std';
import type { TokenRate, Tokens } from '@sandlot/std';

/** The state of one limited thing after somebody asked for it, in the numbers of the `RateLimit-*` headers. */
export interface RateDecision {
  readonly allowed: boolean;
  /** How many may come at once; undefined: no limit. */
  readonly limit: number | undefined;
  readonly remaining: number;
  /** Whole seconds until all of them may come again. */
  readonly resetSeconds: number;
  /** Whole seconds, at least 1, until it is worth asking again; 0 when it was allowed. */
  readonly retryAfterSeconds: number;
}

const UNLIMITED: RateDecision = {
  allowed: true,
  limit: undefined,
  remaining: 0,
  resetSeconds: 0,
  retryAfterSeconds: 0,
};

const MAX_BUCKETS = 10_000;

/** How many bursts a bucket may owe, so that what others told cannot shut a key out for long. */
const MAX_DEBT = 4;

/**
 * Creates a second, by key: a bucket of one second's worth, at least one, that fills evenly. What other replicas let through
 * is taken from it as they tell; a burst that came to several at once is owed and filled up first, so that in the long run
 * all of them together keep the rate. Without their word it is the rate of this process alone.
 */
export class CreateRates {
  readonly #tokens = new Map<string, Tokens>();

  /** Takes one create for `id` at `perSecond` (0: no limit); nothing is taken when it is refused. `nowMs` is monotonic. */
  take(id: string, perSecond: number, nowMs: number): RateDecision {
    if (perSecond <= 0) return UNLIMITED;
    const rate = rateOf(perSecond);
    const full = tokensAt(this.#tokens.get(id), rate, nowMs);
    const allowed = full.left >= 1;
    const tokens = allowed ? { ...full, left: full.left - 1 } : full;
    this.#keep(id, tokens);
    return {
      allowed,
      limit: rate.burst,
      remaining: Math.max(0, Math.floor(tokens.left)),
      resetSeconds: Math.ceil(secondsUntil(tokens, rate, rate.burst)),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(secondsUntil(tokens, rate))),
    };
  }

  /** Another replica took one for `id`: it counts here, too, allowed or not. */
  spent(id: string, perSecond: number, nowMs: number): void {
    if (perSecond <= 0) return;
    const rate = rateOf(perSecond);
    const tokens = tokensAt(this.#tokens.get(id), rate, nowMs);
    this.#keep(id, { ...tokens, left: Math.max(-MAX_DEBT * rate.burst, tokens.left - 1) });
  }

  /** The bucket used longest ago makes room: it has filled up most. */
  #keep(id: string, tokens: Tokens): void {
    this.#tokens.delete(id);
    this.#tokens.set(id, tokens);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_BUCKETS && oldest !== undefined) this.#tokens.delete(oldest);
  }
}

/** A bucket holds one second's worth of creates, and at least one. */
function rateOf(perSecond: number): TokenRate {
  return { perSecond, burst: Math.max(1, Math.floor(perSecond)) };
}

/**
 * Sandboxes that are being made: what a count of those there are does not show yet. Whoever asks gets a place or none;
 * the place is given back when the sandbox is counted, or was never made.
 */
export class Places {
  readonly #taken = new Map<string, number>();

  /** Takes a place for `id` if with `present` ones and those on the way there are fewer than `limit` (0: no limit). */
  take(id: string, { present, limit }: { readonly present: number; readonly limit: number }): Disposable | undefined {
    const taken = this.#taken.get(id) ?? 0;
    if (limit > 0 && present + taken >= limit) return undefined;
    this.#taken.set(id, taken + 1);
    let given = false;
    return {
      [Symbol.dispose]: () => {
        if (given) return;
        given = true;
        const left = (this.#taken.get(id) ?? 1) - 1;
        if (left === 0) this.#taken.delete(id);
        else this.#taken.set(id, left);
      },
    };
  }
}
