import type { ControllerParts } from '@sandlot/service';
import type { Cache } from '../wiring/cache.ts';
import { createPoolMetrics } from './metrics.ts';
import type { PoolMetrics } from './metrics.ts';
import { requestsOf } from './requests.ts';

/** The metrics of pools, told of what the cache shows. */
export function measuredPools({ registry, clock, manager }: ControllerParts, cache: Cache): PoolMetrics {
  const metrics = createPoolMetrics({
    registry,
    monotonic: () => clock.monotonic(),
    isCounting: () => manager.isLeader(),
    requestsOf: (pool) => requestsOf(cache, pool),
  });
  cache.sandboxes.onChange(({ key, next }) => metrics.shown(key, next));
  return metrics;
}
