import { Histogram } from 'prom-client';
import { findActiveExemplar, findExemplar } from './exemplar.ts';
import type { Exemplar, Traced } from './exemplar.ts';
import type { MetricsRegistry } from './registry.ts';

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
  /** Records `value` in the unit of the buckets. The exemplar is the active span, if it is sampled. */
  observe(labels: Readonly<Record<L, string>>, value: number): void;
  /** Records an operation that has ended or that an object carries. */
  observeTraced(labels: Readonly<Record<L, string>>, value: number, traced: Traced): void;
  /** Creates the series of `labels` at zero. */
  zero(labels: Readonly<Record<L, string>>): void;
}

/** Creates a histogram with exemplars. */
export function createLatencyHistogram<L extends string>(options: HistogramOptions<L>): LatencyHistogram<L> {
  const histogram = new Histogram<string>({
    name: options.name,
    help: options.help,
    labelNames: options.labelNames,
    buckets: [...(options.buckets ?? latencyBuckets)],
    enableExemplars: true,
    registers: [options.registry],
  });
  const record = (labels: Readonly<Record<L, string>>, value: number, exemplar: Exemplar | undefined): void => {
    const exemplarLabels = exemplar === undefined ? {} : { trace_id: exemplar.traceId, span_id: exemplar.spanId };
    histogram.observe({ labels, value, exemplarLabels });
  };
  return {
    observe: (labels, value) => record(labels, value, findActiveExemplar()),
    observeTraced: (labels, value, traced) => record(labels, value, findExemplar(traced)),
    zero: (labels) => histogram.zero(labels),
  };
}
