import type { StreamSizing } from '@sandlot/bus';
import { durationMs, flag, integer, list, logLevel, port, ratio, secret, text, url } from '@sandlot/config';
import { z } from 'zod';
import { namespaceList } from './namespaces.ts';

/** Settings of every process. {@link controllerSettings} adds those of controllers. */
export const processSettings = z.object({
  LOG_LEVEL: logLevel().default('info'),
  METRICS_PORT: port().default(9090).meta({ flag: 'metrics-bind-address', form: 'port' }),
  PROBE_PORT: port().default(8081).meta({ flag: 'health-probe-bind-address', form: 'port' }),
  /** Absent in a cluster: the process uses the pod's service account. */
  KUBECONFIG: text().optional(),
  /** Absent: where the kubelet mounts the service account of a pod. */
  SERVICE_ACCOUNT_DIR: text().optional(),
  /** The namespaces to serve. Absent: all. */
  WATCH_NAMESPACES: namespaceList().optional(),
  /** Its name until 0.1.0, for one namespace. To ignore it would serve more namespaces than meant. */
  WATCH_NAMESPACE: z
    .string()
    .refine(() => false, 'nothing, because its name is now WATCH_NAMESPACES')
    .optional(),
  /** Requests to the API server per second, for all priorities together. 0 or less: the defaults of the client. */
  KUBE_API_QPS: integer().default(0).meta({ flag: 'kube-api-qps', form: 'number' }),
  /** Burst of these requests. 0 or less: the number for two seconds. */
  KUBE_API_BURST: integer().default(0).meta({ flag: 'kube-api-burst', form: 'number' }),
  /** The pod's own namespace. */
  POD_NAMESPACE: text().default('default'),
  /** Identity in the lease: the pod's name, so that a restarted container takes back its own lease at once. */
  POD_NAME: text().optional(),
  NATS_URL: url(['nats', 'tls']).optional(),
  NATS_USER: text().optional(),
  NATS_PASSWORD: secret().optional(),
  /** A file with the password, which the process reads whenever it connects. NATS_PASSWORD is not used then. */
  NATS_PASSWORD_FILE: text().optional(),
  NATS_CA_FILE: text().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http', 'https']).optional(),
  /** Absent: traces if there is an endpoint. True: without one, traces to the default endpoint of OpenTelemetry. */
  TRACING: flag().optional().meta({ flag: 'enable-tracing', form: 'flag' }),
  TRACE_SAMPLE_RATIO: ratio().default(0.05),
  /** A claim with a warm sandbox that takes longer counts as slow. Traces of slow claims are always kept. */
  TRACE_SLOW_WARM: durationMs().default(1_000),
  /** The same limit for claims that wait for a pod. */
  TRACE_SLOW_COLD: durationMs().default(15_000),
  /** Identifies the cluster in traces: by convention the UID of kube-system, which our roles cannot read. */
  K8S_CLUSTER_UID: text().optional(),
  /** Build information, set by the image. */
  BUILD_VERSION: text().default('dev'),
  BUILD_COMMIT: text().default('unknown'),
  /** RFC 3339. */
  BUILD_DATE: text().default('unknown'),
});

export type ProcessSettings = z.output<typeof processSettings>;

/** Size of the streams, for processes that declare them. */
export const streamSettings = z.object({
  NATS_STREAM_REPLICAS: integer({ min: 1, max: 5 }).default(1),
  NATS_STREAM_RETENTION: durationMs().default(604_800_000),
  NATS_STREAM_MAX_BYTES: integer({ min: 1_048_576, max: Number.MAX_SAFE_INTEGER }).default(268_435_456),
  NATS_RECORD_MAX_BYTES: integer({ min: 1_048_576, max: Number.MAX_SAFE_INTEGER }).default(67_108_864),
});

/** What {@link streamSettings} say, as the bus takes it. */
export function findStreamSizing(settings: z.output<typeof streamSettings>): StreamSizing {
  return {
    replicas: settings.NATS_STREAM_REPLICAS,
    maxAgeMs: settings.NATS_STREAM_RETENTION,
    maxBytes: settings.NATS_STREAM_MAX_BYTES,
    recordMaxBytes: settings.NATS_RECORD_MAX_BYTES,
  };
}

/** Where Redis is, for processes that may use it. */
export const redisSettings = z.object({
  /** Absent: the process does without. */
  REDIS_URL: url(['redis', 'rediss']).optional(),
  REDIS_USER: text().optional(),
  REDIS_PASSWORD: secret().optional(),
  REDIS_CA_FILE: text().optional(),
  /** Separates the keys of installations that share a Redis. */
  REDIS_PREFIX: text().default('sandlot'),
});

/** Settings of every controller process. A service extends them with its own. */
export const controllerSettings = processSettings.extend({
  ...streamSettings.shape,
  /** Number of reconciles at the same time. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32),
  LEADER_ELECT: flag().default(true).meta({ flag: 'leader-elect', form: 'flag' }),
  /** Into how many parts the work is divided, each with a lease and a holder of its own. */
  SHARDS: integer({ min: 1, max: 16 }).default(1),
  /** Namespace of the lease. Absent: the pod's own namespace. */
  LEASE_NAMESPACE: text().optional().meta({ flag: 'leader-election-namespace' }),
  /** Templates that always have their own label in metrics. */
  METRICS_TEMPLATE_LABELS: list().default([]),
  /** Off where another process declares the streams, as in the chart: the controller has no right to it there. */
  NATS_DECLARE_STREAMS: flag().default(true),
  /** Without a Redis deadlines exist only as timers of the process. */
  ...redisSettings.shape,
  /** How often the leader compares Redis with the deadlines of the objects. */
  DEADLINE_AUDIT_INTERVAL: durationMs().default(60_000),
});

export type ControllerSettings = z.output<typeof controllerSettings>;
