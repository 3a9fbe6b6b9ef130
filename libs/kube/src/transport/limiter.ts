import type { Priority } from '../client/types.ts';
import { TokenBucket } from '../token-bucket.ts';
import type { Rate } from '../token-bucket.ts';

export type RateLimits = Readonly<Record<Priority, Rate>>;

/** A backlog of background work must not look like an attack to the server, and claims must never feel it. */
export const DEFAULT_LIMITS: RateLimits = {
  claim: { perSecond: 1_000, burst: 2_000 },
  normal: { perSecond: 300, burst: 600 },
  background: { perSecond: 100, burst: 200 },
};

/** A bucket for each priority: one never waits behind another. */
export function bucketsFor(limits: RateLimits): Readonly<Record<Priority, TokenBucket>> {
  return {
    claim: new TokenBucket(limits.claim),
    normal: new TokenBucket(limits.normal),
    background: new TokenBucket(limits.background),
  };
}
