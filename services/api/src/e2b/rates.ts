import type { ApiKey, RateDecision } from '@sandlot/tenancy';
import type { Deps } from '../deps.ts';
import { ApiError } from '../http/errors.ts';

/** Headers of a limited route: clients pace themselves by them. */
export function rateHeaders({ limit, remaining, resetSeconds }: RateDecision): Record<string, string> {
  if (limit === undefined) return {};
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}

/** Takes one create of the key. Throws an ApiError 429 that says when to come again. */
export function takeCreate(
  { rates, clock }: Pick<Deps, 'rates' | 'clock'>,
  key: ApiKey,
  perSecond: number,
): RateDecision {
  const decision = rates.take(key.id, perSecond, clock.monotonic());
  if (decision.allowed) return decision;
  throw new ApiError({
    status: 429,
    message: `this API key may create ${perSecond} sandboxes a second; come again in ${decision.retryAfterSeconds} s`,
    headers: { ...rateHeaders(decision), 'Retry-After': String(decision.retryAfterSeconds) },
  });
}
