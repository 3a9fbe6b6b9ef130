import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { secondsUntil, tokensAt } from '@sandlot/std';
import type { TokenRate, Tokens } from '@sandlot/std';

type RefillSpec = SandboxWarmPoolSpec['refill'];

/** Creations that `refill.maxPerSecond` allows at `nowMs`; a full bucket holds one second's worth. Undefined without a limit. */
export function refillTokensAt(tokens: Tokens | undefined, refill: RefillSpec, nowMs: number): Tokens | undefined {
  const rate = rateOf(refill);
  return rate === undefined ? undefined : tokensAt(tokens, rate, nowMs);
}

/** Milliseconds until the bucket holds one more whole token; undefined without a limit. */
export function msUntilToken(tokens: Tokens | undefined, refill: RefillSpec): number | undefined {
  const rate = rateOf(refill);
  if (tokens === undefined || rate === undefined) return undefined;
  const next = Math.max(0, Math.floor(tokens.left)) + 1;
  return Math.ceil(secondsUntil(tokens, rate, next) * 1_000);
}

function rateOf(refill: RefillSpec): TokenRate | undefined {
  const perSecond = refill?.maxPerSecond;
  return perSecond === undefined ? undefined : { perSecond, burst: perSecond };
}
