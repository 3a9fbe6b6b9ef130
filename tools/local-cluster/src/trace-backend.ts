/** Which traces Jaeger keeps if not all. It decides for whole traces, so no trace is stored in part. */
export interface TailSampling {
  /** Jaeger keeps traces that take at least this long, and those with a failed span. */
  slowMs: number;
  /** Percentage of the other traces to keep. */
  othersPercent: number;
  /** How long to wait for the spans of a trace after its first. */
  decisionWaitMs: number;
}

/** Where Jaeger listens, and what it keeps. */
export interface TraceBackendConfig {
  /** Addresses with ports. */
  listen: { otlpHttp: string; query: string };
  /** Number of traces in memory. Jaeger drops the oldest. */
  maxTraces: number;
  /** Without it Jaeger keeps every trace and shows it as soon as it arrives. */
  tailSampling?: TailSampling | undefined;
  /** Folder with the web pages to serve beside the API. Without it Jaeger serves a placeholder. */
  pages?: string | undefined;
}

/** Returns Jaeger's configuration: OTLP over HTTP in, memory as storage, queries as JSON. YAML readers accept JSON. */
export function traceBackendConfig(options: TraceBackendConfig): object {
  const { listen, maxTraces, tailSampling, pages } = options;
  return {
    service: {
      extensions: ['jaeger_storage', 'jaeger_query'],
      pipelines: {
        traces: {
          receivers: ['otlp'],
          processors: tailSampling === undefined ? [] : ['tail_sampling'],
          exporters: ['jaeger_storage_exporter'],
        },
      },
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
    },
    extensions: {
      jaeger_query: {
        storage: { traces: 'memory' },
        ui: pages === undefined ? {} : { assets_path: pages },
        http: { endpoint: listen.query },
        // Jaeger requires it, but nothing uses it.
        grpc: { endpoint: '127.0.0.1:0' },
      },
      jaeger_storage: { backends: { memory: { memory: { max_traces: maxTraces } } } },
    },
    receivers: { otlp: { protocols: { http: { endpoint: listen.otlpHttp } } } },
    processors: tailSampling === undefined ? {} : { tail_sampling: tailSamplingConfig(tailSampling) },
    exporters: { jaeger_storage_exporter: { trace_storage: 'memory' } },
  };
}

function tailSamplingConfig({ slowMs, othersPercent, decisionWaitMs }: TailSampling): object {
  return {
    decision_wait: `${decisionWaitMs}ms`,
    policies: [
      { name: 'failed', type: 'status_code', status_code: { status_codes: ['ERROR'] } },
      { name: 'slow', type: 'latency', latency: { threshold_ms: slowMs } },
      { name: 'others', type: 'probabilistic', probabilistic: { sampling_percentage: othersPercent } },
    ],
  };
}
