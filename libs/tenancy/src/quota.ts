import { computeSecondsUntil, computeTokens } from '@sandlot/std';
import type { TokenRate, Tokens } from '@sandlot/std';

/** The answer to one request under a rate limit, in the numbers of the `RateLimit-*` headers. */
export interface RateDecision {
  readonly allowed: boolean;
  /** Requests that may come at once; undefined: no limit. */
  readonly limit: number | undefined;
  readonly remaining: number;
  /** Whole seconds until that many may come at once again. */
  readonly resetSeconds: number;
  /** Whole seconds, at least 1, until a retry can succeed; 0 when the request was allowed. */
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

/** A bucket owes at most this many bursts, so that reports of other replicas cannot shut a key out for long. */
const MAX_DEBT = 4;

/**
 * Limits the creates per second of each key. The bucket of a key holds one second's worth, at least one, and fills evenly.
 * Reports of creates that other replicas let through are taken from it, too: a burst that reached several replicas at once is
 * owed, so that in the long run all replicas together keep the rate. Without reports the limit is that of this process alone.
 */
export class CreateRates {
  readonly #tokens = new Map<string, Tokens>();

  /** Takes one create for `id` at `perSecond` (0: no limit); a refusal takes nothing. `nowMs` is monotonic. */
  take(id: string, perSecond: number, nowMs: number): RateDecision {
    if (perSecond <= 0) return UNLIMITED;
    const rate = buildRate(perSecond);
    const full = computeTokens(this.#tokens.get(id), rate, nowMs);
    const allowed = full.left >= 1;
    const tokens = allowed ? { ...full, left: full.left - 1 } : full;
    this.#keep(id, tokens);
    return {
      allowed,
      limit: rate.burst,
      remaining: Math.max(0, Math.floor(tokens.left)),
      resetSeconds: Math.ceil(computeSecondsUntil(tokens, rate, rate.burst)),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(computeSecondsUntil(tokens, rate))),
    };
  }

  /** Records that another replica took a create for `id`, whether this one would have allowed it or not. */
  spent(id: string, perSecond: number, nowMs: number): void {
    if (perSecond <= 0) return;
    const rate = buildRate(perSecond);
    const tokens = computeTokens(this.#tokens.get(id), rate, nowMs);
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
function buildRate(perSecond: number): TokenRate {
  return { perSecond, burst: Math.max(1, Math.floor(perSecond)) };
}

export interface PlaceRequest {
  readonly present: number;
  readonly limit: number;
  readonly wanted: number;
}

/**
 * Sandboxes whose creation is under way, which a count of existing Sandboxes does not include yet. A create takes places
 * and gives them back when its Sandboxes are counted or were never created.
 */
export class Places {
  readonly #taken = new Map<string, number>();

  /** Takes `wanted` places for `id` if they fit beside `present` Sandboxes and the taken places; `limit` 0: they always do. */
  take(id: string, { present, limit, wanted }: PlaceRequest): Disposable | undefined {
    const taken = this.#taken.get(id) ?? 0;
    if (limit > 0 && present + taken + wanted > limit) return undefined;
    this.#taken.set(id, taken + wanted);
    let given = false;
    return {
      [Symbol.dispose]: () => {
        if (given) return;
        given = true;
        const left = (this.#taken.get(id) ?? wanted) - wanted;
        if (left === 0) this.#taken.delete(id);
        else this.#taken.set(id, left);
      },
    };
  }
}
