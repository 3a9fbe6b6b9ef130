import { Counter, Gauge } from 'prom-client';
import type { MetricsRegistry } from './registry.ts';

interface Stats {
  readonly pending: number;
  readonly oldestSeconds: number;
}

const OUTCOMES = ['acked', 'failed', 'dropped'] as const;

/** Metrics of outboxes, as they report them. */
export interface OutboxMetricSet {
  watch(outbox: { readonly name: string; readonly types: readonly string[]; readonly getStats: () => Stats }): void;
  countPublished(type: string, outcome: (typeof OUTCOMES)[number]): void;
  countFailure(name: string): void;
  countCollapsed(name: string, states: number): void;
  setDeadLetters(state: { readonly messages: number; readonly oldestMs: number }): void;
}

/** Registers backlog and age by outbox, events by outcome, failed passes and dead letters. */
export function createOutboxMetrics(registry: MetricsRegistry): OutboxMetricSet {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[]): Counter =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const published = counter('sandlot_outbox_published_total', 'Events sent by type and outcome.', ['type', 'outcome']);
  const failures = counter('sandlot_outbox_failures_total', 'Passes that ended early: nothing sent or recorded.', [
    'outbox',
  ]);
  const collapsed = counter('sandlot_outbox_collapsed_total', 'States that get no event because the outbox is full.', [
    'outbox',
  ]);
  const letters = gauge('sandlot_outbox_dead_letters', 'Events that consumers gave up on.');
  const oldest = gauge('sandlot_outbox_dead_letter_oldest_seconds', 'Age of the oldest dead letter; 0 without any.');
  letters.set(0);
  oldest.set(0);
  const watched = new Map<string, () => Stats>();
  watchedGauge('sandlot_outbox_pending_events', 'Events that are not published yet.', (stats) => stats.pending);
  watchedGauge('sandlot_outbox_oldest_seconds', 'Age of the oldest unpublished news.', (stats) => stats.oldestSeconds);

  function watchedGauge(name: string, help: string, read: (stats: Stats) => number): void {
    new Gauge({
      name,
      help,
      labelNames: ['outbox'],
      registers,
      collect() {
        for (const [outbox, stats] of watched) this.set({ outbox }, read(stats()));
      },
    });
  }
  return {
    watch: ({ name, types, getStats: stats }) => {
      watched.set(name, stats);
      for (const type of types) for (const outcome of OUTCOMES) published.inc({ type, outcome }, 0);
      failures.inc({ outbox: name }, 0);
      collapsed.inc({ outbox: name }, 0);
    },
    countPublished: (type, outcome) => published.inc({ type, outcome }),
    countFailure: (outbox) => failures.inc({ outbox }),
    countCollapsed: (outbox, states) => collapsed.inc({ outbox }, states),
    setDeadLetters: ({ messages, oldestMs }) => {
      letters.set(messages);
      oldest.set(oldestMs / 1_000);
    },
  };
}
