import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { computeSecondsUntil, computeTokens } from '@sandlot/std';
import type { TokenRate, Tokens } from '@sandlot/std';

type RefillSpec = SandboxWarmPoolSpec['refill'];

/** Creations that `refill.maxPerSecond` allows at `nowMs`; a full bucket holds one second's worth. Undefined without a limit. */
export function refillTokensAt(tokens: Tokens | undefined, refill: RefillSpec, nowMs: number): Tokens | undefined {
  const rate = findRate(refill);
  return rate === undefined ? undefined : computeTokens(tokens, rate, nowMs);
}

/** Milliseconds until the bucket holds one more whole token; undefined without a limit. */
export function findMsUntilToken(tokens: Tokens | undefined, refill: RefillSpec): number | undefined {
  const rate = findRate(refill);
  if (tokens === undefined || rate === undefined) return undefined;
  const next = Math.max(0, Math.floor(tokens.left)) + 1;
  return Math.ceil(computeSecondsUntil(tokens, rate, next) * 1_000);
}

function findRate(refill: RefillSpec): TokenRate | undefined {
  const perSecond = refill?.maxPerSecond;
  return perSecond === undefined ? undefined : { perSecond, burst: perSecond };
}
