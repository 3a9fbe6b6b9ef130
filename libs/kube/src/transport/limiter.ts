import { pacing } from '@sandlot/pacing';
import { TokenBucket } from '@sandlot/std';
import type { TokenRate } from '@sandlot/std';
import type { Priority } from '../client/types.ts';

export type RateLimits = Readonly<Record<Priority, TokenRate>>;

/** The default limits of a client. */
export function buildDefaultLimits(): RateLimits {
  const { apiRequests } = pacing;
  return {
    claim: { perSecond: apiRequests.claimPerSecond, burst: apiRequests.claimBurst },
    normal: { perSecond: apiRequests.normalPerSecond, burst: apiRequests.normalBurst },
    background: { perSecond: apiRequests.backgroundPerSecond, burst: apiRequests.backgroundBurst },
  };
}

/**
 * Splits a limit for all requests between the priorities, in the proportion of the default limits. The sum stays within
 * the limit, and no priority waits behind another one.
 */
export function splitLimits({ perSecond, burst }: TokenRate): RateLimits {
  const { claim, normal, background } = buildDefaultLimits();
  const all = [claim, normal, background].reduce((sum, limit) => sum + limit.perSecond, 0);
  const share = (limit: TokenRate): TokenRate => ({
    perSecond: (perSecond * limit.perSecond) / all,
    burst: Math.max(1, Math.floor((burst * limit.perSecond) / all)),
  });
  return { claim: share(claim), normal: share(normal), background: share(background) };
}

/** Creates a bucket for each priority, so that no priority waits behind another one. */
export function createBuckets(limits: RateLimits): Readonly<Record<Priority, TokenBucket>> {
  return {
    claim: new TokenBucket(limits.claim),
    normal: new TokenBucket(limits.normal),
    background: new TokenBucket(limits.background),
  };
}
