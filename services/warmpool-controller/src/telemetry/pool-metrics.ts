import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { isReady } from '@sandlot/blueprint';
import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import { MEMBER_STATES } from '../members/count-members.ts';
import type { MemberCounts } from '../members/count-members.ts';
import type { Requests } from './resource-requests.ts';

/** What one pass found about a pool. */
export interface PoolMeasure {
  readonly target: number;
  readonly counts: MemberCounts;
  /** Live Sandboxes that claims adopted from it. */
  readonly inUse: number;
}

/** The metrics of warm pools (docs/reference/observability.md#metrics). */
export interface PoolMetrics {
  recordPool(pool: SandboxWarmPool, measure: PoolMeasure): void;
  /** The pool is gone: removes its series. */
  forget(namespace: string, name: string): void;
  /** The controller sends the creation of the member with this key. */
  recordCreateStart(key: string): void;
  /** That creation failed, or has an unknown outcome. */
  recordCreateFailure(key: string): void;
  /** The watch shows this Sandbox; undefined when it is gone. */
  recordShown(key: string, sandbox: Sandbox | undefined): void;
}

export interface PoolMetricsDeps {
  readonly registry: MetricsRegistry;
  readonly monotonic: () => number;
  /** Whether this process owns the pool: the gauges of a former owner are out of date, so it exports none. */
  readonly isCounting: (pool: SandboxWarmPool) => boolean;
  /** The requests of one member; undefined while the pool has none. */
  readonly findRequests: (pool: SandboxWarmPool) => Requests | undefined;
}

interface Entry extends PoolMeasure {
  readonly pool: SandboxWarmPool;
  /** Since when the pool has fewer Ready members than its target, monotonic milliseconds. */
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
    recordPool(pool, measure) {
      const { namespace = '', name = '' } = pool.metadata;
      const key = `${namespace}/${name}`;
      const before = pools.get(key);
      if (measure.target > 0 && getStock(measure) === 0 && before !== undefined && getStock(before) > 0)
        depletions.inc();
      const isShort = getStock(measure) < measure.target;
      pools.set(key, { ...measure, pool, shortSinceMs: isShort ? (before?.shortSinceMs ?? monotonic()) : undefined });
    },
    forget: (namespace, name) => void pools.delete(`${namespace}/${name}`),
    ...createRefillMetrics(deps),
  };
}

/** Members that a claim could adopt: Ready ones, current or stale. */
function getStock({ counts: { ready, stale } }: PoolMeasure): number {
  return ready + stale;
}

type Reading = Readonly<Record<string, number>>;

function createGauges(deps: PoolMetricsDeps, pools: ReadonlyMap<string, Entry>): void {
  const { monotonic, findRequests } = deps;
  const gauge = createGaugeFactory(deps, pools);
  gauge(
    'members',
    'Members of a warm pool by state: ready, stale (Ready, of an earlier template), pending, stuck, terminating.',
    {
      label: 'state',
      read: ({ counts }) => Object.fromEntries(MEMBER_STATES.map((state) => [state, counts[state]])),
    },
  );
  gauge('target', 'Members a warm pool wants.', { read: ({ target }) => ({ '': target }) });
  gauge('claimed', 'Sandboxes that claims took from a warm pool and still have.', {
    read: ({ inUse }) => ({ '': inUse }),
  });
  gauge('short_seconds', 'How long a warm pool has had fewer Ready members than it wants; 0 when it has enough.', {
    read: ({ shortSinceMs }) => ({ '': shortSinceMs === undefined ? 0 : (monotonic() - shortSinceMs) / 1_000 }),
  });
  createUpstreamGauge(deps, pools);
  const idle = (entry: Entry, resource: keyof Requests): Reading => {
    const { ready, stale, pending, stuck } = entry.counts;
    return { '': (ready + stale + pending + stuck) * (findRequests(entry.pool)?.[resource] ?? 0) };
  };
  gauge('idle_cpu_cores', 'CPU that the members of a warm pool request while no claim uses them.', {
    read: (entry) => idle(entry, 'cpu'),
  });
  gauge('idle_memory_bytes', 'Memory that the members of a warm pool request while no claim uses them.', {
    read: (entry) => idle(entry, 'memory'),
  });
}

/** The members under upstream's name, so that its alerts on an empty pool keep working. */
function createUpstreamGauge({ registry, isCounting }: PoolMetricsDeps, pools: ReadonlyMap<string, Entry>): void {
  new Gauge({
    name: 'agent_sandbox_warmpool_size',
    help: 'Members of a warm pool that are ready, or pending.',
    labelNames: ['namespace', 'warmpool_name', 'sandbox_template', 'sandbox_status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const entry of pools.values()) {
        const { metadata, spec } = entry.pool;
        if (!isCounting(entry.pool)) continue;
        const labels = {
          namespace: metadata.namespace ?? '',
          warmpool_name: metadata.name ?? '',
          sandbox_template: spec.sandboxTemplateRef.name,
        };
        const { pending, stuck } = entry.counts;
        this.set({ ...labels, sandbox_status: 'ready' }, getStock(entry));
        this.set({ ...labels, sandbox_status: 'pending' }, pending + stuck);
      }
    },
  });
}

interface GaugeShape {
  readonly label?: string;
  /** Values by the value of `label`; under the empty string for a gauge without a label. */
  readonly read: (entry: Entry) => Reading;
}

/** Gauges read the pools at each scrape. */
function createGaugeFactory({ registry, isCounting }: PoolMetricsDeps, pools: ReadonlyMap<string, Entry>) {
  return (name: string, help: string, { label, read }: GaugeShape): Gauge =>
    new Gauge<string>({
      name: `sandlot_warmpool_${name}`,
      help,
      labelNames: ['namespace', 'pool', ...(label === undefined ? [] : [label])],
      registers: [registry],
      collect() {
        this.reset();
        for (const entry of pools.values()) {
          if (!isCounting(entry.pool)) continue;
          const { namespace = '', name: pool = '' } = entry.pool.metadata;
          for (const [state, value] of Object.entries(read(entry))) {
            this.set({ namespace, pool, ...(label === undefined ? {} : { [label]: state }) }, value);
          }
        }
      },
    });
}

type RefillMetrics = Pick<PoolMetrics, 'recordCreateStart' | 'recordCreateFailure' | 'recordShown'>;

/** Measures each member from its creation to the first time that the watch shows it Ready. */
function createRefillMetrics({ registry, monotonic }: PoolMetricsDeps): RefillMetrics {
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
    recordCreateStart: (key) => void startedMs.set(key, monotonic()),
    recordCreateFailure(key) {
      startedMs.delete(key);
      failures.inc();
    },
    recordShown(key, sandbox) {
      const sinceMs = startedMs.get(key);
      if (sinceMs === undefined || (sandbox !== undefined && !isReady(sandbox))) return;
      startedMs.delete(key);
      if (sandbox !== undefined) refill.observe({}, (monotonic() - sinceMs) / 1_000);
    },
  };
}
