import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { RegistryContentType } from 'prom-client';
import type { HttpListener, ListenOptions } from '../servers/http-listener.ts';
import { serveMetrics } from '../servers/metrics-server.ts';
import type { MetricsRegistry } from './registry.ts';
import { SPAN_LOSSES } from '../export/span-buffer.ts';
import type { SpanLoss } from '../export/span-buffer.ts';

export interface BuildInfo {
  readonly version: string;
  readonly commit: string;
  /** RFC 3339, or `unknown`. */
  readonly date: string;
}

export interface MetricsOptions {
  readonly build?: BuildInfo | undefined;
  /** Metrics of process and event loop; default true. */
  readonly processMetrics?: boolean | undefined;
}

export interface Metrics {
  readonly registry: MetricsRegistry;
  /** Counts lost spans; give it to `startTracing` as `onLost`. */
  readonly countLostSpans: (spans: number, reason: SpanLoss) => void;
  /** Serves the registry on `/metrics`. */
  serve(options: ListenOptions): Promise<HttpListener>;
}

/** Creates a registry with build information, process metrics and lost spans. */
export function createMetrics({ build, processMetrics = true }: MetricsOptions = {}): Metrics {
  const registry: MetricsRegistry = new Registry<RegistryContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  if (processMetrics) collectDefaultMetrics({ register: registry });
  if (build !== undefined) registerBuildInfo(registry, build);
  const lost = new Counter({
    name: 'sandlot_telemetry_spans_lost_total',
    help: 'Spans that never reached the trace backend.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of SPAN_LOSSES) lost.inc({ reason }, 0);
  return {
    registry,
    countLostSpans: (spans, reason) => lost.inc({ reason }, spans),
    serve: (options) => serveMetrics({ ...options, registry }),
  };
}

/** The name of docs/reference/observability.md#metrics; `go_version` holds the version of Node. */
function registerBuildInfo(registry: MetricsRegistry, { version, commit, date }: BuildInfo): void {
  const labels = {
    git_version: version,
    git_commit: commit,
    build_date: date,
    go_version: process.version,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch}`,
  };
  const info = new Gauge({
    name: 'agent_sandbox_build_info',
    help: 'Build of the running process; always 1.',
    labelNames: Object.keys(labels),
    registers: [registry],
  });
  info.set(labels, 1);
}
