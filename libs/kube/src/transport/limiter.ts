import type { Priority } from '../client/types.ts';
import { TokenBucket } from '../token-bucket.ts';
import type { Rate } from '../token-bucket.ts';

export type RateLimits = Readonly<Record<Priority, Rate>>;

/** No backlog may look like an attack to the server. What keeps claims from feeling one is the gate. */
export const DEFAULT_LIMITS: RateLimits = {
  claim: { perSecond: 1_000, burst: 2_000 },
  normal: { perSecond: 300, burst: 600 },
  background: { perSecond: 500, burst: 1_000 },
};

/** A bucket for each priority: one never waits behind another. */
export function bucketsFor(limits: RateLimits): Readonly<Record<Priority, TokenBucket>> {
  return {
    claim: new TokenBucket(limits.claim),
    normal: new TokenBucket(limits.normal),
    background: new TokenBucket(limits.background),
  };
}
