import type { ApiKey, RateDecision } from '@sandlot/tenancy';
import type { Deps } from '../wiring/deps.ts';
import { ApiError } from '../errors/api-error.ts';
import { allowanceOf } from './allowance.ts';

/** Headers of a limited route: clients pace themselves by them. */
export function rateHeaders({ limit, remaining, resetSeconds }: RateDecision): Record<string, string> {
  if (limit === undefined) return {};
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}

/** Takes one create of the key, and tells the other replicas. Throws an ApiError 429 that says when to come again. */
export function takeCreate(
  { rates, clock, bus, instance }: Pick<Deps, 'rates' | 'clock' | 'bus' | 'instance'>,
  key: ApiKey,
  perSecond: number,
): RateDecision {
  const decision = rates.take(key.id, perSecond, clock.monotonic());
  if (decision.allowed) {
    if (decision.limit !== undefined) bus.reportSpending({ key: key.id, by: instance });
    return decision;
  }
  throw new ApiError({
    status: 429,
    message: `this API key may create ${perSecond} sandboxes a second; come again in ${decision.retryAfterSeconds} s`,
    headers: { ...rateHeaders(decision), 'Retry-After': String(decision.retryAfterSeconds) },
  });
}

type SharedRates = Pick<Deps, 'rates' | 'clock' | 'bus' | 'instance' | 'keys' | 'settings'>;

/** Lets what other replicas let through count here, until disposed of. */
export function shareRates({ rates, clock, bus, instance, keys, settings }: SharedRates): Disposable {
  return bus.onSpending(({ key: id, by }) => {
    const key = by === instance ? undefined : keys.byId(id);
    if (key !== undefined) rates.spent(id, allowanceOf(key, settings).createsPerSecond, clock.monotonic());
  });
}
