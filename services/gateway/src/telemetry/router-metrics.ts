// What agent-sandbox's router exposes, under its names, for dashboards that were made for it.
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge, Histogram } from 'prom-client';

const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
]);
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];
const LABELS = ['method', 'code', 'sandbox_namespace'] as const;
/** What the router says for a request that it could not place. */
const NO_NAMESPACE = '-';

export interface RoutedAnswer {
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
  /** Namespace of the sandbox that the gateway found, never the one that the client named. */
  readonly namespace: string | undefined;
}

/** Creates the metrics of the router, and returns how to record an answer to a request for a sandbox. */
export function createRouterMetrics(
  registry: MetricsRegistry,
  countRequests: () => number,
): (answer: RoutedAnswer) => void {
  const requests = new Counter({
    name: 'sandbox_router_requests_total',
    help: 'Requests for sandboxes, as the router of agent-sandbox counts them.',
    labelNames: LABELS,
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'sandbox_router_request_duration_seconds',
    help: 'From the head of such a request to the head of its answer.',
    labelNames: LABELS,
    buckets: BUCKETS,
    registers: [registry],
  });
  new Gauge({
    name: 'sandbox_router_inflight_requests',
    help: 'Requests and streams that go on with sandboxes.',
    registers: [registry],
    collect() {
      this.set(countRequests());
    },
  });
  return ({ method, status, seconds, namespace = NO_NAMESPACE }) => {
    // Clients choose methods: others share one label.
    const labels = {
      method: METHODS.has(method) ? method : 'other',
      code: String(status),
      sandbox_namespace: namespace,
    };
    requests.inc(labels);
    durations.observe(labels, seconds);
  };
}
