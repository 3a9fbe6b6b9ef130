import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import { MEMBER_STATES } from '../members/count-members.ts';
import type { Census } from '../members/count-members.ts';
import type { Requests } from './requests.ts';

/** A pool as a pass found it. */
export interface PoolMeasure {
  /** Members it wants. */
  readonly target: number;
  readonly census: Census;
  /** Sandboxes that claims took from it and still have. */
  readonly claimed: number;
}

/** What the warmpool-controller measures (API contract, observability). Seconds on the wire. */
export interface PoolMetrics {
  /** A pool as a pass found it. */
  measured(pool: SandboxWarmPool, measure: PoolMeasure): void;
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
  /** Whether this process keeps the pools: what a former leader found is not what is. */
  readonly isCounting: () => boolean;
  /** What one member of the pool asks its node for; undefined while it has none. */
  readonly requestsOf: (pool: SandboxWarmPool) => Requests | undefined;
}

interface Entry extends PoolMeasure {
  readonly pool: SandboxWarmPool;
  /** Since when it has had fewer Ready members than it wants, monotonic milliseconds. */
  readonly shortSinceMs: number | undefined;
}

export function createPoolMetrics(deps: PoolMetricsDeps): PoolMetrics {
  const { registry, monotonic } = deps;
  const pools = new Map<string, Entry>();
  const depletions = new Counter({
    name: 'sandlot_warmpool_depletions_total',
    help: 'Times a warm pool that wants members lost its last Ready one.',
    registers: [registry],
  });
  createGauges(deps, pools);
  return {
    measured(pool, measure) {
      const { namespace = '', name = '' } = pool.metadata;
      const key = `${namespace}/${name}`;
      const before = pools.get(key);
      if (measure.target > 0 && stockOf(measure) === 0 && before !== undefined && stockOf(before) > 0) depletions.inc();
      const isShort = stockOf(measure) < measure.target;
      pools.set(key, { ...measure, pool, shortSinceMs: isShort ? (before?.shortSinceMs ?? monotonic()) : undefined });
    },
    forget: (namespace, name) => void pools.delete(`${namespace}/${name}`),
    ...createRefill(deps),
  };
}

/** What a claim could take: Ready members, those of an earlier template included. */
function stockOf({ census: { ready, stale } }: PoolMeasure): number {
  return ready + stale;
}

type Reading = Readonly<Record<string, number>>;

function createGauges(deps: PoolMetricsDeps, pools: ReadonlyMap<string, Entry>): void {
  const { monotonic, requestsOf } = deps;
  const gauge = gaugesOver(deps, pools);
  gauge(
    'members',
    'Members of a warm pool by state: ready, stale (Ready, of an earlier template), pending, stuck, terminating.',
    {
      label: 'state',
      read: ({ census }) => Object.fromEntries(MEMBER_STATES.map((state) => [state, census[state]])),
    },
  );
  gauge('target', 'Members a warm pool wants.', { read: ({ target }) => ({ '': target }) });
  gauge('claimed', 'Sandboxes that claims took from a warm pool and still have.', {
    read: ({ claimed }) => ({ '': claimed }),
  });
  gauge('short_seconds', 'How long a warm pool has had fewer Ready members than it wants; 0 when it has enough.', {
    read: ({ shortSinceMs }) => ({ '': shortSinceMs === undefined ? 0 : (monotonic() - shortSinceMs) / 1_000 }),
  });
  const idle = (entry: Entry, resource: keyof Requests): Reading => {
    const { ready, stale, pending, stuck } = entry.census;
    return { '': (ready + stale + pending + stuck) * (requestsOf(entry.pool)?.[resource] ?? 0) };
  };
  gauge('idle_cpu_cores', 'CPU that the members of a warm pool request while nobody uses them.', {
    read: (entry) => idle(entry, 'cpu'),
  });
  gauge('idle_memory_bytes', 'Memory that the members of a warm pool request while nobody uses them.', {
    read: (entry) => idle(entry, 'memory'),
  });
}

interface GaugeShape {
  readonly label?: string;
  /** Values by the value of `label`; by the empty text without a label. */
  readonly read: (entry: Entry) => Reading;
}

/** Gauges that read the pools when they are scraped. */
function gaugesOver({ registry, isCounting }: PoolMetricsDeps, pools: ReadonlyMap<string, Entry>) {
  return (name: string, help: string, { label, read }: GaugeShape): Gauge =>
    new Gauge<string>({
      name: `sandlot_warmpool_${name}`,
      help,
      labelNames: ['namespace', 'pool', ...(label === undefined ? [] : [label])],
      registers: [registry],
      collect() {
        this.reset();
        if (!isCounting()) return;
        for (const entry of pools.values()) {
          const { namespace = '', name: pool = '' } = entry.pool.metadata;
          for (const [state, value] of Object.entries(read(entry))) {
            this.set({ namespace, pool, ...(label === undefined ? {} : { [label]: state }) }, value);
          }
        }
      },
    });
}

/** From asking for a member to its being Ready. */
function createRefill({ registry, monotonic }: PoolMetricsDeps): Pick<PoolMetrics, 'asked' | 'failed' | 'shown'> {
  const refill = createLatencyHistogram({
    registry,
    name: 'sandlot_warmpool_refill_seconds',
    help: 'From asking for a member of a warm pool to the member being Ready.',
    labelNames: [],
  });
  const failures = new Counter({
    name: 'sandlot_warmpool_refill_failures_total',
    help: 'Members of warm pools that the API server did not let be made.',
    registers: [registry],
  });
  refill.zero({});
  const startedMs = new Map<string, number>();
  return {
    asked: (key) => void startedMs.set(key, monotonic()),
    failed(key) {
      startedMs.delete(key);
      failures.inc();
    },
    shown(key, sandbox) {
      const sinceMs = startedMs.get(key);
      if (sinceMs === undefined || (sandbox !== undefined && !isReady(sandbox))) return;
      startedMs.delete(key);
      if (sandbox !== undefined) refill.observe({}, (monotonic() - sinceMs) / 1_000);
    },
  };
}
