import { TokenBucket } from '@sandlot/std';
import type { TokenRate } from '@sandlot/std';
import type { Priority } from '../client/types.ts';

export type RateLimits = Readonly<Record<Priority, TokenRate>>;

/** No backlog may look like an attack to the server. What keeps claims from feeling one is the gate. */
export const DEFAULT_LIMITS: RateLimits = {
  claim: { perSecond: 1_000, burst: 2_000 },
  normal: { perSecond: 300, burst: 600 },
  background: { perSecond: 500, burst: 1_000 },
};

/**
 * The limits of an installation that bounds all requests together: each priority has its usual share, so that one still
 * never waits behind another and the sum is what was asked for.
 */
export function limitsWithin({ perSecond, burst }: TokenRate): RateLimits {
  const all = Object.values(DEFAULT_LIMITS).reduce((sum, limit) => sum + limit.perSecond, 0);
  const share = (limit: TokenRate): TokenRate => ({
    perSecond: (perSecond * limit.perSecond) / all,
    burst: Math.max(1, Math.floor((burst * limit.perSecond) / all)),
  });
  const { claim, normal, background } = DEFAULT_LIMITS;
  return { claim: share(claim), normal: share(normal), background: share(background) };
}

/** A bucket for each priority: one never waits behind another. */
export function bucketsFor(limits: RateLimits): Readonly<Record<Priority, TokenBucket>> {
  return {
    claim: new TokenBucket(limits.claim),
    normal: new TokenBucket(limits.normal),
    background: new TokenBucket(limits.background),
  };
}
