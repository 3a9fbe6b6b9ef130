/** Which traces are kept when not all are. Decided for whole traces, so that none arrives in parts. */
export interface TailSampling {
  /** Traces that take at least this long are kept; so are those with a span that failed. */
  slowMs: number;
  /** Percentage of the others that is kept. */
  othersPercent: number;
  /** How long the spans of a trace are waited for, from its first. */
  decisionWaitMs: number;
}

/** Where Jaeger listens and what it keeps. */
export interface TraceBackendConfig {
  /** Addresses with ports. */
  listen: { otlpHttp: string; query: string };
  /** Traces in memory, the oldest are dropped. */
  maxTraces: number;
  /** Absent: every trace is kept, and is there as soon as it arrived. */
  tailSampling?: TailSampling | undefined;
  /** Folder with the pages served beside the API; absent: a placeholder. */
  pages?: string | undefined;
}

/** Jaeger's configuration: OTLP over HTTP in, memory, queries as JSON out. JSON is what its YAML reader takes too. */
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
        // Required, but unused.
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
