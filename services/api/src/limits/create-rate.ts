import type { Bus } from '@sandlot/bus';
import type { Clock } from '@sandlot/std';
import type { ApiKey, CreateRates, KeyRing, RateDecision } from '@sandlot/tenancy';
import { ApiError } from '../errors/api-error.ts';
import type { Allowance } from './allowance.ts';

export interface CreateRateOptions {
  readonly rates: CreateRates;
  readonly getAllowance: (key: ApiKey) => Allowance;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly bus: Pick<Bus, 'reportSpending' | 'onSpending'>;
  readonly keys: Pick<KeyRing, 'findById'>;
  /** Name of this replica in the messages to the others. */
  readonly instance: string;
}

/** Creates per second of each API key, counted over all replicas while the bus is up. */
export class CreateRate {
  readonly #options: CreateRateOptions;

  constructor(options: CreateRateOptions) {
    this.#options = options;
  }

  /** Counts one create of the key and reports it to the other replicas. Throws an ApiError 429 with `Retry-After`. */
  take(key: ApiKey): RateDecision {
    const { rates, getAllowance, clock, bus, instance } = this.#options;
    const { createsPerSecond } = getAllowance(key);
    const decision = rates.take(key.id, createsPerSecond, clock.monotonic());
    if (decision.allowed) {
      if (decision.limit !== undefined) bus.reportSpending({ key: key.id, by: instance });
      return decision;
    }
    throw new ApiError({
      status: 429,
      message: `this API key may create ${createsPerSecond} sandboxes a second; come again in ${decision.retryAfterSeconds} s`,
      headers: { ...buildRateHeaders(decision), 'Retry-After': String(decision.retryAfterSeconds) },
    });
  }

  /** Counts creates of the key that a request makes besides the one that {@link take} allowed. */
  spend(key: ApiKey, count: number): void {
    const { rates, getAllowance, clock, bus, instance } = this.#options;
    const { createsPerSecond } = getAllowance(key);
    if (createsPerSecond <= 0) return;
    for (let left = count; left > 0; left -= 1) {
      rates.spent(key.id, createsPerSecond, clock.monotonic());
      bus.reportSpending({ key: key.id, by: instance });
    }
  }

  /** Counts the creates that other replicas report, until the result is disposed of. */
  share(): Disposable {
    const { rates, getAllowance, clock, bus, keys, instance } = this.#options;
    return bus.onSpending(({ key: id, by }) => {
      const key = by === instance ? undefined : keys.findById(id);
      if (key !== undefined) rates.spent(id, getAllowance(key).createsPerSecond, clock.monotonic());
    });
  }
}

/** The `RateLimit-*` headers by which clients pace themselves; none for a key without a limit. */
export function buildRateHeaders({ limit, remaining, resetSeconds }: RateDecision): Record<string, string> {
  if (limit === undefined) return {};
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}
