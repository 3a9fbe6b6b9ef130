import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_NAMESPACE, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import { silentLogger, systemClock } from '@sandlot/std';
import type { Clock, Logger } from '@sandlot/std';
import { createSpanBuffer } from './span-buffer.ts';
import type { SpanLoss } from './span-buffer.ts';

const EXPORT_TIMEOUT_MS = 5_000;
const SHUTDOWN_LIMIT_MS = 3_000;
const COMPLAINT_INTERVAL_MS = 60_000;

export interface TracingOptions {
  readonly service: string;
  readonly version?: string | undefined;
  /** Base URL of an OTLP/HTTP receiver, such as `http://collector:4318`. Without one nothing is recorded. */
  readonly endpoint?: string | undefined;
  /** Share of new traces that is recorded, 0 to 1; default 1. Traces that come with a parent follow the parent. */
  readonly sampleRatio?: number | undefined;
  /** More about this process, such as `k8s.pod.name`. */
  readonly resource?: Readonly<Record<string, string>> | undefined;
  readonly log?: Logger | undefined;
  readonly clock?: Clock | undefined;
  /** Called for spans that are lost; `spanLossCounter` of the metrics counts them. */
  readonly onLost?: ((spans: number, reason: SpanLoss) => void) | undefined;
  /** Spans kept for export; more are dropped and counted. Default 2048. */
  readonly maxQueueSize?: number | undefined;
}

export interface Tracing {
  /** Exports what is left, for at most 3 s, and switches tracing off. Never throws. */
  shutdown(): Promise<void>;
}

/**
 * Switches tracing on for this process: W3C trace context and nothing else travels, so no baggage. Context travels
 * without an endpoint too. Exporting is off the path of every caller; a receiver that is away costs spans, not time.
 */
export function startTracing(options: TracingOptions): Tracing {
  const { clock = systemClock, log = silentLogger } = options;
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  setGlobalErrorHandler(complainRarely(log, clock));
  const provider = options.endpoint === undefined ? undefined : createProvider(options, options.endpoint);
  if (provider !== undefined) trace.setGlobalTracerProvider(provider);
  return {
    shutdown: async () => {
      trace.disable();
      const abort = new AbortController();
      const flushed = provider?.shutdown().catch(() => log.warn({}, 'the last spans could not be exported'));
      await Promise.race([flushed, clock.sleep(SHUTDOWN_LIMIT_MS, abort.signal)]);
      abort.abort();
      context.disable();
      propagation.disable();
    },
  };
}

function createProvider(options: TracingOptions, endpoint: string): TracerProvider {
  const exporter = new OTLPTraceExporter({
    url: new URL('v1/traces', endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href,
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  return new TracerProvider({
    resource: resourceFromAttributes({
      [ATTR_SERVICE_NAME]: options.service,
      [ATTR_SERVICE_NAMESPACE]: 'sandlot',
      ...(options.version === undefined ? {} : { [ATTR_SERVICE_VERSION]: options.version }),
      ...options.resource,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.sampleRatio ?? 1) }),
    spanProcessors: [
      createSpanBuffer({
        exporter,
        maxQueueSize: options.maxQueueSize ?? 2_048,
        exportTimeoutMs: EXPORT_TIMEOUT_MS,
        onLost: options.onLost ?? (() => undefined),
      }),
    ],
  });
}

/** The exporter reports every failed batch; one line a minute says as much. */
function complainRarely(log: Logger, clock: Clock): (error: unknown) => void {
  let quietUntilMs = -Infinity;
  return (error) => {
    if (clock.monotonic() < quietUntilMs) return;
    quietUntilMs = clock.monotonic() + COMPLAINT_INTERVAL_MS;
    log.warn({ err: error }, 'spans cannot be exported; they are dropped and counted');
  };
}
