import { Counter, Gauge } from 'prom-client';
import { createLatencyHistogram } from './histogram.ts';
import type { MetricsRegistry } from './registry.ts';

/** Metrics of deadlines, as their keeper reports them. */
export interface DeadlineMetricSet {
  setConnected(up: boolean): void;
  watchPending(sample: () => { readonly redis: number; readonly timer: number }): void;
  countFired(purpose: string, fate: 'queued' | 'stale'): void;
  observeLateness(purpose: string, lateSeconds: number): void;
  countAudit(missing: number, orphaned: number): void;
}

/** Registers the lateness of deadlines, the jobs in Redis and the results of audits. All series begin at 0. */
export function createDeadlineMetrics(registry: MetricsRegistry, purposes: readonly string[]): DeadlineMetricSet {
  const registers = [registry];
  const lateness = createLatencyHistogram({
    registry,
    name: 'sandlot_deadline_lateness_seconds',
    help: 'From a deadline to the begin of the pass that acts on it, by purpose.',
    labelNames: ['purpose'],
  });
  const fired = new Counter({
    name: 'sandlot_deadlines_fired_total',
    help: 'Jobs that fired, by purpose; stale ones were for objects that had changed.',
    labelNames: ['purpose', 'fate'],
    registers,
  });
  const connected = new Gauge({ name: 'sandlot_deadlines_connected', help: '1 while Redis is reachable.', registers });
  const audit = (what: string, help: string): Counter =>
    new Counter({ name: `sandlot_deadlines_audit_${what}_total`, help, registers });
  const audits = new Counter({ name: 'sandlot_deadlines_audits_total', help: 'Audits that were held.', registers });
  const missing = audit('missing', 'Deadlines whose job had gone from Redis.');
  const orphaned = audit('orphaned', 'Jobs in Redis that had no deadline.');
  for (const purpose of purposes) {
    lateness.zero({ purpose });
    for (const fate of ['queued', 'stale']) fired.inc({ purpose, fate }, 0);
  }
  return {
    setConnected: (up) => connected.set(up ? 1 : 0),
    watchPending(sample) {
      new Gauge({
        name: 'sandlot_deadlines_pending',
        help: 'Deadlines to come, by who holds them: Redis and a timer, or a timer alone.',
        labelNames: ['held_by'],
        registers,
        collect() {
          const { redis, timer } = sample();
          this.set({ held_by: 'redis' }, redis);
          this.set({ held_by: 'timer' }, timer);
        },
      });
    },
    countFired: (purpose, fate) => fired.inc({ purpose, fate }),
    observeLateness: (purpose, lateSeconds) => lateness.observe({ purpose }, lateSeconds),
    countAudit: (gone, strays) => {
      audits.inc();
      missing.inc(gone);
      orphaned.inc(strays);
    },
  };
}
