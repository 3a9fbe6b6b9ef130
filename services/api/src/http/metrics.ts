import type { MetricsRegistry } from '@sandlot/telemetry';
import { createLatencyHistogram } from '@sandlot/telemetry';
import { Counter } from 'prom-client';

export interface HttpMetrics {
  /** `route` is the pattern, never the path; `seconds` until the answer was complete. */
  answered(labels: { readonly route: string; readonly method: string; readonly code: string }, seconds: number): void;
  /** Creates by what became of them. */
  created(outcome: CreateOutcome): void;
}

const CREATE_OUTCOMES = ['created', 'replayed', 'limited', 'refused', 'no_stock', 'timeout', 'failed'] as const;
export type CreateOutcome = (typeof CREATE_OUTCOMES)[number];

export function createHttpMetrics(registry: MetricsRegistry): HttpMetrics {
  const requests = createLatencyHistogram({
    registry,
    name: 'sandlot_api_request_seconds',
    help: 'Time until requests of the API were answered.',
    labelNames: ['route', 'method', 'code'] as const,
  });
  const creates = new Counter({
    name: 'sandlot_api_creates_total',
    help: 'Sandboxes asked for over the API, by what became of the request.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of CREATE_OUTCOMES) creates.inc({ outcome }, 0);
  return {
    answered: (labels, seconds) => requests.observe(labels, seconds),
    created: (outcome) => creates.inc({ outcome }),
  };
}
