export { createBusMetrics } from './metrics/bus-metrics.ts';
export type { BusMetricSet } from './metrics/bus-metrics.ts';
export { carrier } from './traces/carrier.ts';
export { createDeadlineMetrics } from './metrics/deadline-metrics.ts';
export type { DeadlineMetricSet } from './metrics/deadline-metrics.ts';
export { parseCarriedSpan } from './metrics/exemplar.ts';
export type { Traced } from './metrics/exemplar.ts';
export { createLatencyHistogram, latencyBuckets } from './metrics/histogram.ts';
export type { HistogramOptions, LatencyHistogram } from './metrics/histogram.ts';
export { listen } from './servers/http-listener.ts';
export type { HttpListener, ListenOptions } from './servers/http-listener.ts';
export { createLabelLimit, createLabelSetLimit, OVERFLOW_LABEL } from './metrics/label-limit.ts';
export { createLogger } from './logs/logger.ts';
export type { LogLevel, LoggerOptions } from './logs/logger.ts';
export { createMetrics } from './metrics/metrics.ts';
export type { BuildInfo, Metrics, MetricsOptions } from './metrics/metrics.ts';
export type { MetricsRegistry } from './metrics/registry.ts';
export { serveMetrics } from './servers/metrics-server.ts';
export type { MetricsServerOptions } from './servers/metrics-server.ts';
export { createOutboxMetrics } from './metrics/outbox-metrics.ts';
export type { OutboxMetricSet } from './metrics/outbox-metrics.ts';
export { serveProbes } from './servers/probes.ts';
export type { ProbeOptions } from './servers/probes.ts';
export type { SpanLoss } from './export/span-buffer.ts';
export {
  parseCarriedContext,
  endOperation,
  runInContext,
  isSampled,
  isSlow,
  linkActiveSpan,
  linkTo,
  linkToContext,
  findOperation,
  recordSpan,
} from './traces/operation.ts';
export type { Operation } from './traces/operation.ts';
export { failSpan, spanAttributes, spanNames, withChildSpan, withSpan } from './traces/spans.ts';
export type { SpanName } from './traces/spans.ts';
export { startTracing } from './traces/tracing.ts';
export type { Tracing, TracingOptions } from './traces/tracing.ts';
