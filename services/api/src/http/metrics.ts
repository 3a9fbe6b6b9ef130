import type { MetricsRegistry } from '@sandlot/telemetry';
import { createLatencyHistogram } from '@sandlot/telemetry';

export interface RequestMetrics {
  /** `route` is the pattern, never the path; `seconds` until the answer was sent. */
  observeRequest(
    labels: { readonly route: string; readonly method: string; readonly code: string },
    seconds: number,
  ): void;
}

export function createRequestMetrics(registry: MetricsRegistry): RequestMetrics {
  const requests = createLatencyHistogram({
    registry,
    name: 'sandlot_api_request_seconds',
    help: 'Time until requests of the API were answered.',
    labelNames: ['route', 'method', 'code'] as const,
  });
  return { observeRequest: (labels, seconds) => requests.observe(labels, seconds) };
}
