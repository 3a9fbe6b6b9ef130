/** Tokens per second in the long run, and how many a full bucket holds. */
export interface TokenRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** A bucket at one moment. `left` is below zero while tokens are owed; `atMs` is monotonic. */
export interface Tokens {
  readonly left: number;
  readonly atMs: number;
}

/** The bucket as it is at `nowMs`. A bucket that was never used is full. */
export function computeTokens(tokens: Tokens | undefined, { perSecond, burst }: TokenRate, nowMs: number): Tokens {
  if (tokens === undefined) return { left: burst, atMs: nowMs };
  const gained = (Math.max(0, nowMs - tokens.atMs) / 1_000) * perSecond;
  return { left: Math.min(burst, tokens.left + gained), atMs: nowMs };
}

/** Seconds from `tokens.atMs` until the bucket holds `count` tokens; 0 when it does. */
export function computeSecondsUntil(tokens: Tokens, { perSecond }: TokenRate, count = 1): number {
  return Math.max(0, (count - tokens.left) / perSecond);
}

/** Spreads callers in time: each gets the time to wait, and a caller that comes while others wait waits longer. */
export class TokenBucket {
  readonly #rate: TokenRate;
  #tokens: Tokens | undefined;

  constructor(rate: TokenRate) {
    this.#rate = rate;
  }

  /**
   * Takes one token and returns the milliseconds until it may be used. When that is more than `maxWaitMs`, takes nothing
   * and returns Infinity, so that callers that do not wait do not delay the others. `nowMs` is monotonic.
   */
  take(nowMs: number, maxWaitMs = Infinity): number {
    const tokens = computeTokens(this.#tokens, this.#rate, nowMs);
    const waitMs = computeSecondsUntil(tokens, this.#rate) * 1_000;
    const isTaken = waitMs <= maxWaitMs;
    this.#tokens = isTaken ? { left: tokens.left - 1, atMs: nowMs } : tokens;
    return isTaken ? waitMs : Infinity;
  }
}
