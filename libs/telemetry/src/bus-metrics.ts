import { Counter, Gauge } from 'prom-client';
import type { MetricsRegistry } from './metrics.ts';

/** Metrics of the message bus, in the shape the bus reports to. */
export interface BusMetricSet {
  connected(up: boolean): void;
  published(type: string, outcome: 'acked' | 'retried' | 'dropped'): void;
  pending(count: number): void;
  hint(type: string, outcome: 'handled' | 'invalid' | 'failed'): void;
}

/** Registers connection state, buffer depth, and counts of events out and hints in. Types come from the catalogue. */
export function createBusMetrics(registry: MetricsRegistry): BusMetricSet {
  const registers = [registry];
  const connected = new Gauge({ name: 'sandlot_bus_connected', help: '1 while NATS is reachable.', registers });
  const pending = new Gauge({
    name: 'sandlot_bus_pending_events',
    help: 'Events that are not acknowledged yet.',
    registers,
  });
  const published = new Counter({
    name: 'sandlot_bus_events_total',
    help: 'Events by type and outcome; retried counts attempts.',
    labelNames: ['type', 'outcome'],
    registers,
  });
  const hints = new Counter({
    name: 'sandlot_bus_hints_total',
    help: 'Hints received by type and outcome.',
    labelNames: ['type', 'outcome'],
    registers,
  });
  connected.set(0);
  pending.set(0);
  return {
    connected: (up) => connected.set(up ? 1 : 0),
    pending: (count) => pending.set(count),
    published: (type, outcome) => published.inc({ type, outcome }),
    hint: (type, outcome) => hints.inc({ type, outcome }),
  };
}
