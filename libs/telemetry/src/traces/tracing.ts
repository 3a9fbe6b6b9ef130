import { ROOT_CONTEXT, TraceFlags, context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { SamplingDecision, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_NAMESPACE, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import { silentLogger, systemClock } from '@sandlot/std';
import type { Clock, Logger } from '@sandlot/std';
import { idGenerator } from './identity.ts';
import { createSpanBuffer } from '../export/span-buffer.ts';
import type { SpanLoss } from '../export/span-buffer.ts';
import { TailBuffer } from '../export/tail-buffer.ts';
import { setTracingState } from './tracing-state.ts';
import type { SlowLimits } from './tracing-state.ts';

const EXPORT_TIMEOUT_MS = 5_000;
const SHUTDOWN_LIMIT_MS = 3_000;
const COMPLAINT_INTERVAL_MS = 60_000;

export interface TracingOptions {
  readonly service: string;
  readonly version?: string | undefined;
  /** Base URL of an OTLP/HTTP receiver, such as `http://collector:4318`. Without one nothing is recorded. */
  readonly endpoint?: string | undefined;
  /** Receives the spans instead of an OTLP receiver. */
  readonly exporter?: SpanExporter | undefined;
  /**
   * Share of new traces that is sampled, 0 to 1; default 1. Traces with a parent follow the parent. Unsampled traces are held
   * until their operation ends, and exported when it failed or was slow.
   */
  readonly sampleRatio?: number | undefined;
  /** Durations from which an operation is slow. Default 1 s warm, 15 s cold. */
  readonly slow?: SlowLimits | undefined;
  /** More attributes of this process, such as `k8s.pod.name`. */
  readonly resource?: Readonly<Record<string, string>> | undefined;
  readonly log?: Logger | undefined;
  readonly clock?: Clock | undefined;
  /** Called for lost spans; `spanLossCounter` of the metrics counts them. */
  readonly onLost?: ((spans: number, reason: SpanLoss) => void) | undefined;
  /** Spans kept for export; more are dropped and counted. Default 2048. */
  readonly maxQueueSize?: number | undefined;
  /** More spans kept while the receiver is away, for when it is back. Default 4096. */
  readonly maxKeptSpans?: number | undefined;
  /** Spans held of undecided traces; beyond that the oldest are dropped and counted. Default 8192. */
  readonly maxHeldSpans?: number | undefined;
}

export interface Tracing {
  /** Exports all spans that are not held for a decision. */
  flush(): Promise<void>;
  /** Exports the remaining spans for at most 3 s and switches tracing off. Never throws. */
  shutDown(): Promise<void>;
}

/**
 * Switches tracing on for this process. Only the W3C trace context is propagated, no baggage, also without an endpoint.
 * Callers never wait for an export: a receiver that is away costs bounded memory and then spans, but no time.
 */
export function startTracing(options: TracingOptions): Tracing {
  const { clock = systemClock, log = silentLogger } = options;
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  setGlobalErrorHandler(complainRarely(log, clock));
  const exporter = options.exporter ?? createOtlpExporter(options.endpoint);
  const provider = exporter === undefined ? undefined : createProvider({ ...options, clock }, exporter);
  if (provider !== undefined) trace.setGlobalTracerProvider(provider);
  return {
    flush: async () => provider?.forceFlush(),
    shutDown: async () => {
      trace.disable();
      setTracingState(undefined);
      const abort = new AbortController();
      const flushed = provider?.shutdown().catch(() => log.warn({}, 'cannot export the last spans'));
      await Promise.race([flushed, clock.sleep(SHUTDOWN_LIMIT_MS, abort.signal)]);
      abort.abort();
      context.disable();
      propagation.disable();
    },
  };
}

function createProvider(options: TracingOptions & { readonly clock: Clock }, exporter: SpanExporter): TracerProvider {
  const ratio = new TraceIdRatioBasedSampler(options.sampleRatio ?? 1);
  const isInRatio = (traceId: string): boolean =>
    ratio.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  const { clock, maxQueueSize = 2_048, maxKeptSpans = 4_096, maxHeldSpans = 8_192, onLost = () => undefined } = options;
  const tail = new TailBuffer({
    next: createSpanBuffer({ exporter, clock, maxQueueSize, maxKeptSpans, exportTimeoutMs: EXPORT_TIMEOUT_MS, onLost }),
    clock,
    maxSpans: maxHeldSpans,
    onUndecided: (spans) => onLost(spans, 'undecided'),
  });
  const slow = options.slow ?? { warmMs: 1_000, coldMs: 15_000 };
  setTracingState({
    slow,
    isInRatio,
    hold: (traceId, exportSpan) => tail.hold(traceId, exportSpan),
    decide: (traceId, keep) => tail.decide(traceId, keep),
  });
  return new TracerProvider({
    resource: resourceFromAttributes({
      [ATTR_SERVICE_NAME]: options.service,
      [ATTR_SERVICE_NAMESPACE]: 'sandlot',
      ...(options.version === undefined ? {} : { [ATTR_SERVICE_VERSION]: options.version }),
      ...options.resource,
    }),
    sampler: createHeadSampler(isInRatio),
    idGenerator,
    spanProcessors: [tail],
  });
}

function createOtlpExporter(endpoint: string | undefined): SpanExporter | undefined {
  if (endpoint === undefined) return undefined;
  const url = new URL('v1/traces', endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href;
  return new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS });
}

/** Follows the parent, else the share of trace ids. Unsampled spans are recorded, so that their trace can still be kept. */
function createHeadSampler(isInRatio: (traceId: string) => boolean): Sampler {
  return {
    shouldSample: (from, traceId) => {
      const parent = trace.getSpanContext(from);
      const isSampled = parent === undefined ? isInRatio(traceId) : (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
      return { decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.RECORD };
    },
    toString: () => 'SandlotHead',
  };
}

/** The exporter reports every failed batch; the log has at most one line a minute. */
function complainRarely(log: Logger, clock: Clock): (error: unknown) => void {
  let quietUntilMs = -Infinity;
  return (error) => {
    if (clock.monotonic() < quietUntilMs) return;
    quietUntilMs = clock.monotonic() + COMPLAINT_INTERVAL_MS;
    log.warn({ err: error }, 'cannot export spans; those that do not fit into the buffer are lost and counted');
  };
}
