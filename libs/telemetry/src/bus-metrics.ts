import { Counter, Gauge } from 'prom-client';
import type { MetricsRegistry } from './metrics.ts';

/** Metrics of the message bus, in the shape the bus reports to. Outboxes count what they send themselves. */
export interface BusMetricSet {
  connected(up: boolean): void;
  hint(type: string, outcome: 'handled' | 'invalid' | 'failed'): void;
}

/** Registers connection state and the count of hints. Types come from the catalogue. */
export function createBusMetrics(registry: MetricsRegistry): BusMetricSet {
  const registers = [registry];
  const connected = new Gauge({ name: 'sandlot_bus_connected', help: '1 while NATS is reachable.', registers });
  const hints = new Counter({
    name: 'sandlot_bus_hints_total',
    help: 'Hints received by type and outcome.',
    labelNames: ['type', 'outcome'],
    registers,
  });
  connected.set(0);
  return {
    connected: (up) => connected.set(up ? 1 : 0),
    hint: (type, outcome) => hints.inc({ type, outcome }),
  };
}
