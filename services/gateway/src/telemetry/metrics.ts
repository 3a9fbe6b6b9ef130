import { parseCarriedSpan, createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import { LOOKUP_RESULTS } from '../directory/directory.ts';
import type { LookupResult } from '../directory/directory.ts';
import { LIMIT_NAMES } from '../limits/limit-names.ts';
import type { LimitName } from '../limits/limit-names.ts';
import { ROUTE_LABELS } from '../proxy/exchange.ts';
import type { RouteLabel } from '../proxy/exchange.ts';
import { REFUSAL_KINDS } from '../refusals/refusal.ts';
import type { Refusal } from '../refusals/refusal.ts';
import type { TrafficTotals } from './traffic.ts';

/** How a request that waited for its sandbox ended. */
export const WAIT_ENDS = ['go', 'gone', 'late', 'delayed', 'left'] as const;
export type WaitOutcome = (typeof WAIT_ENDS)[number];

export interface AnswerMeasure {
  readonly route: RouteLabel;
  readonly status: number;
  readonly seconds: number;
  /** The client's trace context, as the text of a carrier. */
  readonly carrier: string | undefined;
}

export interface GatewayMetrics {
  /** Records the head of an answer, the gateway's own or an upstream's. */
  recordAnswer(answer: AnswerMeasure): void;
  countRefusal(kind: Refusal['kind']): void;
  /** Counts what a share refused: a request, or a connection before its request. */
  countLimit(limit: LimitName): void;
  /** Records a wait. Call it inside the span of the wait, which becomes the exemplar. */
  recordWait(outcome: WaitOutcome, seconds: number): void;
  countLookup(result: LookupResult): void;
}

/** Values that are read at each scrape. */
export interface GatewayGauges {
  readonly countClients: () => number;
  readonly countWebSockets: () => number;
  readonly countRequests: () => number;
  readonly countHeld: () => number;
  readonly countSandboxes: () => number;
  readonly sumTraffic: () => TrafficTotals;
}

const CODES = ['1xx', '2xx', '3xx', '4xx', '5xx'];

/** Creates the metrics of the gateway: rate, errors and duration of requests, and what is open. */
export function createGatewayMetrics(registry: MetricsRegistry, gauges: GatewayGauges): GatewayMetrics {
  const requests = createLatencyHistogram({
    registry,
    name: 'sandlot_gateway_request_seconds',
    help: 'From the head of a request to the head of its answer.',
    labelNames: ['route', 'code'],
  });
  const waits = createLatencyHistogram({
    registry,
    name: 'sandlot_gateway_wake_seconds',
    help: 'How long requests waited for a sandbox to wake or to start.',
    labelNames: ['outcome'],
  });
  const refusals = new Counter({
    name: 'sandlot_gateway_refusals_total',
    help: 'Requests that the gateway answered itself, by why.',
    labelNames: ['reason'],
    registers: [registry],
  });
  const limits = new Counter({
    name: 'sandlot_gateway_limits_total',
    help: 'Requests and connections refused because one client, sandbox or namespace had its share, by the limit.',
    labelNames: ['limit'],
    registers: [registry],
  });
  const lookups = new Counter({
    name: 'sandlot_gateway_lookups_total',
    help: 'Second looks for sandboxes that the caches would refuse: a wait for the watch, or a question to the API server.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const reason of REFUSAL_KINDS) refusals.inc({ reason }, 0);
  for (const limit of LIMIT_NAMES) limits.inc({ limit }, 0);
  for (const result of LOOKUP_RESULTS) lookups.inc({ result }, 0);
  for (const route of ROUTE_LABELS) for (const code of CODES) requests.zero({ route, code });
  for (const outcome of WAIT_ENDS) waits.zero({ outcome });
  createGauges(registry, gauges);
  countTraffic(registry, gauges.sumTraffic);
  return {
    recordAnswer: ({ route, status, seconds, carrier }) => {
      const measured = { route, code: CODES[Math.floor(status / 100) - 1] ?? '5xx' };
      if (carrier === undefined) requests.observe(measured, seconds);
      else requests.observeTraced(measured, seconds, { span: parseCarriedSpan(carrier), isSlow: false });
    },
    countRefusal: (reason) => refusals.inc({ reason }),
    countLimit: (limit) => limits.inc({ limit }),
    recordWait: (outcome, seconds) => waits.observe({ outcome }, seconds),
    countLookup: (result) => lookups.inc({ result }),
  };
}

function createGauges(registry: MetricsRegistry, gauges: GatewayGauges): void {
  const gauge = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('sandlot_gateway_client_connections', 'Open connections of clients.', gauges.countClients);
  gauge('sandlot_gateway_websockets', 'Open WebSockets and other upgraded connections.', gauges.countWebSockets);
  gauge('sandlot_gateway_open_requests', 'Requests and streams that go on with sandboxes.', gauges.countRequests);
  gauge('sandlot_gateway_held_requests', 'Requests that wait for their sandbox.', gauges.countHeld);
  gauge('sandlot_gateway_sandboxes', 'Sandboxes to which connections are kept.', gauges.countSandboxes);
}

function countTraffic(registry: MetricsRegistry, totals: GatewayGauges['sumTraffic']): void {
  new Counter({
    name: 'sandlot_gateway_bytes_total',
    help: 'Bytes on connections to sandboxes, heads of requests and answers included.',
    labelNames: ['direction'],
    registers: [registry],
    collect() {
      const { toSandboxes, fromSandboxes } = totals();
      this.reset();
      this.inc({ direction: 'to_sandboxes' }, toSandboxes);
      this.inc({ direction: 'from_sandboxes' }, fromSandboxes);
    },
  });
}
