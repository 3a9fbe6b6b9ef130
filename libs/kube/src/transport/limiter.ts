import { pacing } from '@sandlot/pacing';
import { TokenBucket } from '@sandlot/std';
import type { TokenRate } from '@sandlot/std';
import type { Priority } from '../client/types.ts';

export type RateLimits = Readonly<Record<Priority, TokenRate>>;

/** The limits of a client that are not set otherwise. */
export function defaultLimits(): RateLimits {
  const { apiRequests } = pacing;
  return {
    claim: { perSecond: apiRequests.claimPerSecond, burst: apiRequests.claimBurst },
    normal: { perSecond: apiRequests.normalPerSecond, burst: apiRequests.normalBurst },
    background: { perSecond: apiRequests.backgroundPerSecond, burst: apiRequests.backgroundBurst },
  };
}

/**
 * The limits of an installation that bounds all requests together: each priority has its usual share, so that one still
 * never waits behind another and the sum is what was asked for.
 */
export function limitsWithin({ perSecond, burst }: TokenRate): RateLimits {
  const { claim, normal, background } = defaultLimits();
  const all = [claim, normal, background].reduce((sum, limit) => sum + limit.perSecond, 0);
  const share = (limit: TokenRate): TokenRate => ({
    perSecond: (perSecond * limit.perSecond) / all,
    burst: Math.max(1, Math.floor((burst * limit.perSecond) / all)),
  });
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
