import { convertAmounts } from '@sandlot/usage';
import type { Amounts } from '@sandlot/usage';
import { createLabelLimit } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';

export interface UsageMetrics {
  /** Sets what a namespace has used since the ledger began. */
  show(namespace: string, total: Amounts): void;
  /** Sets when the ledger was last brought up to date. */
  setCounted(atMs: number): void;
}

/** Namespaces with a label of their own; further ones are counted together. */
const MOST_NAMESPACES = 1_000;
const UNITS = ['sandboxSeconds', 'cpuSeconds', 'gibHours'] as const;
const NONE = { sandboxSeconds: 0, cpuSeconds: 0, gibHours: 0 };

/** Counters only grow, also where a correction takes something back: they wait until usage has grown beyond it. */
export function createUsageMetrics(registry: MetricsRegistry): UsageMetrics {
  const labelNames = ['namespace'] as const;
  const registers = [registry];
  const counters = {
    sandboxSeconds: new Counter({
      name: 'sandlot_usage_sandbox_seconds_total',
      help: 'Seconds that claimed Sandboxes have run, since the ledger of usage began.',
      labelNames,
      registers,
    }),
    cpuSeconds: new Counter({
      name: 'sandlot_usage_cpu_seconds_total',
      help: 'Requested CPUs of claimed Sandboxes times the seconds that they have run.',
      labelNames,
      registers,
    }),
    gibHours: new Counter({
      name: 'sandlot_usage_memory_gib_hours_total',
      help: 'Requested memory of claimed Sandboxes in GiB times the hours that they have run.',
      labelNames,
      registers,
    }),
  };
  const counted = new Gauge({
    name: 'sandlot_usage_counted_timestamp_seconds',
    help: 'When the ledger of usage was last brought up to date; 0 where another process keeps it.',
    registers,
  });
  const limitLabel = createLabelLimit(MOST_NAMESPACES);
  const shown = new Map<string, typeof NONE>();
  return {
    show: (namespace, total) => {
      const now = convertAmounts(total);
      const before = shown.get(namespace) ?? NONE;
      const next = { ...before };
      for (const unit of UNITS) {
        next[unit] = Math.max(now[unit], before[unit]);
        counters[unit].inc({ namespace: limitLabel(namespace) }, next[unit] - before[unit]);
      }
      shown.set(namespace, next);
    },
    setCounted: (atMs) => counted.set(atMs / 1_000),
  };
}
