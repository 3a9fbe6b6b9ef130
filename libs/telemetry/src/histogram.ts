import { TraceFlags, trace } from '@opentelemetry/api';
import type { SpanContext } from '@opentelemetry/api';
import { Histogram } from 'prom-client';
import { carrier } from './carrier.ts';
import type { MetricsRegistry } from './metrics.ts';

/** Buckets of every latency in seconds, 1 ms to 60 s. */
export const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface HistogramOptions<L extends string> {
  readonly registry: MetricsRegistry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  /** Default {@link latencyBuckets}. */
  readonly buckets?: readonly number[] | undefined;
}

export interface LatencyHistogram<L extends string> {
  /** Records `value` in the unit of the buckets. The exemplar is `span`, by default the active one, if it is sampled. */
  observe(labels: Readonly<Record<L, string>>, value: number, span?: SpanContext): void;
  /** The same for an operation whose trace travels with an object: `carrierText` is the text of its annotation. */
  observeTraced(labels: Readonly<Record<L, string>>, value: number, carrierText: string | undefined): void;
  /** Makes the series of `labels` exist at zero. */
  zero(labels: Readonly<Record<L, string>>): void;
}

/** A histogram whose buckets carry trace ids on the wire. */
export function createLatencyHistogram<L extends string>(options: HistogramOptions<L>): LatencyHistogram<L> {
  const histogram = new Histogram<string>({
    name: options.name,
    help: options.help,
    labelNames: options.labelNames,
    buckets: [...(options.buckets ?? latencyBuckets)],
    enableExemplars: true,
    registers: [options.registry],
  });
  const record = (labels: Readonly<Record<L, string>>, value: number, span: SpanContext | undefined): void => {
    const sampled = span !== undefined && (span.traceFlags & TraceFlags.SAMPLED) !== 0;
    const exemplarLabels = sampled ? { trace_id: span.traceId, span_id: span.spanId } : {};
    histogram.observe({ labels, value, exemplarLabels });
  };
  return {
    observe: (labels, value, span = trace.getActiveSpan()?.spanContext()) => record(labels, value, span),
    observeTraced(labels, value, carrierText) {
      const carried = carrier.extract(carrierText);
      record(labels, value, carried === undefined ? undefined : trace.getSpanContext(carried));
    },
    zero: (labels) => histogram.zero(labels),
  };
}
