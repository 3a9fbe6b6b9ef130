import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Gauge } from 'prom-client';
import { MEMBER_STATES } from './census.ts';
import type { Census } from './census.ts';

/** What the warmpool-controller measures (API contract, observability). Seconds on the wire. */
export interface PoolMetrics {
  /** A pool as a pass found it. */
  measured(pool: SandboxWarmPool, target: number, census: Census): void;
  /** A pool is gone: so are its series. */
  forget(namespace: string, name: string): void;
  /** A member with this key is being created. */
  asked(key: string): void;
  /** That creation failed, as far as is known. */
  failed(key: string): void;
  /** The watch shows a Sandbox, or that it is gone. */
  shown(key: string, sandbox: Sandbox | undefined): void;
}

export interface PoolMetricsDeps {
  readonly registry: MetricsRegistry;
  readonly monotonic: () => number;
}

export function createPoolMetrics({ registry, monotonic }: PoolMetricsDeps): PoolMetrics {
  const members = new Gauge({
    name: 'sandlot_warmpool_members',
    help: 'Members of a warm pool by state: ready, stale (Ready, of an earlier template), pending, stuck, terminating.',
    labelNames: ['namespace', 'pool', 'state'],
    registers: [registry],
  });
  const targets = new Gauge({
    name: 'sandlot_warmpool_target',
    help: 'Members a warm pool wants.',
    labelNames: ['namespace', 'pool'],
    registers: [registry],
  });
  const refill = createLatencyHistogram({
    registry,
    name: 'sandlot_warmpool_refill_seconds',
    help: 'From asking for a member of a warm pool to the member being Ready.',
    labelNames: [],
  });
  refill.zero({});
  const startedMs = new Map<string, number>();
  return {
    measured({ metadata: { namespace = '', name: pool = '' } }, target, census) {
      targets.set({ namespace, pool }, target);
      for (const state of MEMBER_STATES) members.set({ namespace, pool, state }, census[state]);
    },
    forget(namespace, pool) {
      targets.remove({ namespace, pool });
      for (const state of MEMBER_STATES) members.remove({ namespace, pool, state });
    },
    asked: (key) => void startedMs.set(key, monotonic()),
    failed: (key) => void startedMs.delete(key),
    shown(key, sandbox) {
      const sinceMs = startedMs.get(key);
      if (sinceMs === undefined || (sandbox !== undefined && !isReady(sandbox))) return;
      startedMs.delete(key);
      if (sandbox !== undefined) refill.observe({}, (monotonic() - sinceMs) / 1_000);
    },
  };
}
