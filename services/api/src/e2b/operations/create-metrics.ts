import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter } from 'prom-client';
import { ApiError } from '../../errors/api-error.ts';

const RESULTS = ['created', 'replayed', 'limited', 'refused', 'no_stock', 'timeout', 'failed'] as const;
export type CreateResult = (typeof RESULTS)[number];

export interface CreateMetrics {
  countCreate(result: CreateResult): void;
}

export function createCreateMetrics(registry: MetricsRegistry): CreateMetrics {
  const creates = new Counter({
    name: 'sandlot_api_creates_total',
    help: 'Sandboxes requested over the API, by outcome of the request.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of RESULTS) creates.inc({ outcome }, 0);
  return { countCreate: (outcome) => creates.inc({ outcome }) };
}

/** The result of a create that threw. */
export function getResult(error: unknown): CreateResult {
  if (!(error instanceof ApiError)) return 'failed';
  if (error.errorCode === 'sandbox_capacity_unavailable') return 'no_stock';
  if (error.status === 504) return 'timeout';
  if (error.status === 429) return 'limited';
  return error.status < 500 ? 'refused' : 'failed';
}
