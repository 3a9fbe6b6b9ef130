export { createBusMetrics } from './bus-metrics.ts';
export type { BusMetricSet } from './bus-metrics.ts';
export { carrier } from './carrier.ts';
export { createDeadlineMetrics } from './deadline-metrics.ts';
export type { DeadlineMetricSet } from './deadline-metrics.ts';
export { carriedSpan } from './exemplar.ts';
export type { Traced } from './exemplar.ts';
export { createLatencyHistogram, latencyBuckets } from './histogram.ts';
export type { HistogramOptions, LatencyHistogram } from './histogram.ts';
export type { HttpListener, ListenOptions } from './http-listener.ts';
export { createLabelLimit, createLabelSetLimit, OVERFLOW_LABEL } from './label-limit.ts';
export { createLogger } from './logger.ts';
export type { LogLevel, LoggerOptions } from './logger.ts';
export { createMetrics } from './metrics.ts';
export type { BuildInfo, Metrics, MetricsOptions } from './metrics.ts';
export type { MetricsRegistry } from './registry.ts';
export { serveMetrics } from './metrics-server.ts';
export type { MetricsServerOptions } from './metrics-server.ts';
export { createOutboxMetrics } from './outbox-metrics.ts';
export type { OutboxMetricSet } from './outbox-metrics.ts';
export { serveProbes } from './probes.ts';
export type { ProbeOptions } from './probes.ts';
export type { SpanLoss } from './span-buffer.ts';
export {
  carriedContext,
  endOperation,
  inContext,
  isSampled,
  isSlow,
  linkActiveSpan,
  linkTo,
  linkToContext,
  operationOf,
  recordSpan,
} from './operation.ts';
export type { Operation } from './operation.ts';
export { spanAttributes, spanNames, withChildSpan, withSpan } from './spans.ts';
export type { SpanName } from './spans.ts';
export { startTracing } from './tracing.ts';
export type { Tracing, TracingOptions } from './tracing.ts';
