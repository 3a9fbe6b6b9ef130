import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';

/** `failed`: the last attempt failed; `retried`: another one follows. */
export type AttemptOutcome = 'succeeded' | 'retried' | 'failed';

export interface WebhookMetrics {
  countAttempt(outcome: AttemptOutcome, seconds: number): void;
  /** Pending deliveries that gave way to newer ones of their webhook. */
  countDropped(deliveries: number): void;
  /** As the leader sees it. */
  setPending(deliveries: number): void;
  /** Of the oldest pending delivery, as the leader sees it. */
  setAge(seconds: number): void;
}

export function createWebhookMetrics(registry: MetricsRegistry): WebhookMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'sandlot_webhooks_attempts_total',
    help: 'Attempts to deliver an event to a webhook, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const dropped = new Counter({
    name: 'sandlot_webhooks_dropped_total',
    help: 'Pending deliveries that gave way to newer ones, because their webhook had too many.',
    registers,
  });
  const pending = new Gauge({
    name: 'sandlot_webhooks_pending',
    help: 'Deliveries that have not ended, as the leader sees it.',
    registers,
  });
  const age = new Gauge({
    name: 'sandlot_webhooks_oldest_pending_seconds',
    help: 'Age of the delivery of the oldest event that has not ended, as the leader sees it; 0 without one.',
    registers,
  });
  const seconds = new Counter({
    name: 'sandlot_webhooks_attempt_seconds_total',
    help: 'Time that attempts took.',
    registers,
  });
  for (const outcome of ['succeeded', 'retried', 'failed']) attempts.inc({ outcome }, 0);
  return {
    countAttempt: (outcome, taken) => {
      attempts.inc({ outcome });
      seconds.inc(taken);
    },
    countDropped: (deliveries) => dropped.inc(deliveries),
    setPending: (deliveries) => pending.set(deliveries),
    setAge: (old) => age.set(old),
  };
}
