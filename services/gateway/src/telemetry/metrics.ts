import { carriedSpan, createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import { ROUTE_LABELS } from '../proxy/exchange.ts';
import type { RouteLabel } from '../proxy/exchange.ts';
import { REFUSAL_KINDS } from '../refusals/refusal.ts';
import type { Refusal } from '../refusals/refusal.ts';
import type { TrafficTotals } from './traffic.ts';

/** How a request that waited for its sandbox ended. */
export const WAIT_ENDS = ['go', 'gone', 'late', 'left'] as const;
export type WaitOutcome = (typeof WAIT_ENDS)[number];

export interface AnswerMeasure {
  readonly route: RouteLabel;
  readonly status: number;
  readonly seconds: number;
  /** The client's trace, as the text of a carrier. */
  readonly carrier: string | undefined;
}

export interface GatewayMetrics {
  /** The head of an answer went out, ours or a sandbox's. */
  answered(answer: AnswerMeasure): void;
  refused(kind: Refusal['kind']): void;
  /** Call it inside of the wait's span. */
  waited(outcome: WaitOutcome, seconds: number): void;
  lookedUp(result: 'found' | 'missing' | 'unsure'): void;
}

/** What is counted when somebody looks. */
export interface GatewayState {
  readonly clients: () => number;
  readonly webSockets: () => number;
  readonly requests: () => number;
  readonly held: () => number;
  readonly sandboxes: () => number;
  readonly traffic: () => TrafficTotals;
}

const CODES = ['1xx', '2xx', '3xx', '4xx', '5xx'];
const LOOKUPS = ['found', 'missing', 'unsure'] as const;

/** Rate, errors and duration of requests, and what the gateway holds on to. */
export function createGatewayMetrics(registry: MetricsRegistry, state: GatewayState): GatewayMetrics {
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
  const lookups = new Counter({
    name: 'sandlot_gateway_lookups_total',
    help: 'Questions to the API server about sandboxes that the watches did not know.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const reason of REFUSAL_KINDS) refusals.inc({ reason }, 0);
  for (const result of LOOKUPS) lookups.inc({ result }, 0);
  for (const route of ROUTE_LABELS) for (const code of CODES) requests.zero({ route, code });
  for (const outcome of WAIT_ENDS) waits.zero({ outcome });
  createGauges(registry, state);
  countTraffic(registry, state.traffic);
  return {
    answered: ({ route, status, seconds, carrier }) => {
      const measured = { route, code: CODES[Math.floor(status / 100) - 1] ?? '5xx' };
      if (carrier === undefined) requests.observe(measured, seconds);
      else requests.observeTraced(measured, seconds, { span: carriedSpan(carrier), isSlow: false });
    },
    refused: (reason) => refusals.inc({ reason }),
    waited: (outcome, seconds) => waits.observe({ outcome }, seconds),
    lookedUp: (result) => lookups.inc({ result }),
  };
}

function createGauges(registry: MetricsRegistry, state: GatewayState): void {
  const gauge = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('sandlot_gateway_client_connections', 'Open connections of clients.', state.clients);
  gauge('sandlot_gateway_websockets', 'Open WebSockets and other upgraded connections.', state.webSockets);
  gauge('sandlot_gateway_open_requests', 'Requests and streams that go on with sandboxes.', state.requests);
  gauge('sandlot_gateway_held_requests', 'Requests that wait for their sandbox.', state.held);
  gauge('sandlot_gateway_sandboxes', 'Sandboxes to which connections are kept.', state.sandboxes);
}

function countTraffic(registry: MetricsRegistry, totals: GatewayState['traffic']): void {
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
