import { Counter, Gauge } from 'prom-client';
import type { MetricsRegistry } from './registry.ts';

/** Metrics of the bus. Outboxes count their own events. */
export interface BusMetricSet {
  setConnected(up: boolean): void;
  countHint(type: string, outcome: 'handled' | 'invalid' | 'failed'): void;
  setRefusedSettings(stream: string, count: number): void;
}

/** Registers the connection state, the count of hints and the refused stream settings. Types come from the catalogue. */
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
    setConnected: (up) => connected.set(up ? 1 : 0),
    countHint: (type, outcome) => hints.inc({ type, outcome }),
    setRefusedSettings: (stream, count) => refused.set({ stream }, count),
  };
}
