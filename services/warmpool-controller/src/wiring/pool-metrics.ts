import { getKey } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { createPoolMetrics } from '../telemetry/pool-metrics.ts';
import type { PoolMetrics } from '../telemetry/pool-metrics.ts';
import { findRequests } from '../telemetry/resource-requests.ts';
import type { Cache } from './cache.ts';

/** Creates the metrics of pools; they follow the Sandboxes that the cache shows. */
export function connectPoolMetrics({ registry, clock, manager }: ControllerParts, cache: Cache): PoolMetrics {
  const metrics = createPoolMetrics({
    registry,
    monotonic: () => clock.monotonic(),
    isCounting: (pool) => manager.owns(getKey(pool)),
    findRequests: (pool) => findRequests(cache, pool),
  });
  cache.sandboxes.onChange(({ key, next }) => metrics.recordShown(key, next));
  return metrics;
}
