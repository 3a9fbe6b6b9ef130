import { Counter, Gauge } from 'prom-client';
import type { MetricsRegistry } from './registry.ts';

/** Metrics of the message bus, in the shape the bus reports to. Outboxes count what they send themselves. */
export interface BusMetricSet {
  connected(up: boolean): void;
  hint(type: string, outcome: 'handled' | 'invalid' | 'failed'): void;
  refusedSettings(stream: string, count: number): void;
}

/** Registers connection state, the count of hints, and what the server refuses of the streams. Types come from the catalogue. */
export function createBusMetrics(registry: MetricsRegistry): BusMetricSet {
  const registers = [registry];
  const connected = new Gauge({ name: 'sandlot_bus_connected', help: '1 while NATS is reachable.', registers });
  const hints = new Counter({
    name: 'sandlot_bus_hints_total',
    help: 'Hints received by type and outcome.',
    labelNames: ['type', 'outcome'],
    registers,
  });
  const refused = new Gauge({
    name: 'sandlot_bus_stream_refused_settings',
    help: 'Declared settings of a stream that NATS refuses.',
    labelNames: ['stream'],
    registers,
  });
  connected.set(0);
  return {
    connected: (up) => connected.set(up ? 1 : 0),
    hint: (type, outcome) => hints.inc({ type, outcome }),
    refusedSettings: (stream, count) => refused.set({ stream }, count),
  };
}
