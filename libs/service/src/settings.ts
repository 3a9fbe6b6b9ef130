import { durationMs, flag, integer, list, logLevel, port, ratio, secret, text, url } from '@sandlot/config';
import { z } from 'zod';

/** Settings that every process has; see {@link controllerSettings} for what controllers have besides. */
export const processSettings = z.object({
  LOG_LEVEL: logLevel().default('info'),
  METRICS_PORT: port().default(9090).meta({ flag: 'metrics-bind-address', form: 'port' }),
  PROBE_PORT: port().default(8081).meta({ flag: 'health-probe-bind-address', form: 'port' }),
  /** Absent in a cluster: the pod's service account is used. */
  KUBECONFIG: text().optional(),
  /** Absent: where the kubelet mounts the service account of a pod. */
  SERVICE_ACCOUNT_DIR: text().optional(),
  /** Absent: all namespaces. */
  WATCH_NAMESPACE: text().optional(),
  /** Requests to the API server a second, all priorities together. 0 or less: the limits of the client. */
  KUBE_API_QPS: integer().default(0).meta({ flag: 'kube-api-qps', form: 'number' }),
  /** How many of them may come at once. 0 or less: two seconds' worth. */
  KUBE_API_BURST: integer().default(0).meta({ flag: 'kube-api-burst', form: 'number' }),
  /** The pod's own namespace. */
  POD_NAMESPACE: text().default('default'),
  /** Identity in the lease: the pod's name, so that a restarted container takes its own lease back at once. */
  POD_NAME: text().optional(),
  NATS_URL: url(['nats', 'tls']).optional(),
  NATS_USER: text().optional(),
  NATS_PASSWORD: secret().optional(),
  NATS_CA_FILE: text().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http', 'https']).optional(),
  /** Absent: traced where there is an endpoint. True: also without, to OpenTelemetry's own default. */
  TRACING: flag().optional().meta({ flag: 'enable-tracing', form: 'flag' }),
  TRACE_SAMPLE_RATIO: ratio().default(0.05),
  /** From when on a claim that a warm sandbox serves is slow, and its trace kept whatever the ratio says. */
  TRACE_SLOW_WARM: durationMs().default(1_000),
  /** The same for what waits for a pod. */
  TRACE_SLOW_COLD: durationMs().default(15_000),
  /** Distinguishes the traces of clusters; by convention the UID of kube-system, which none of our roles may read. */
  K8S_CLUSTER_UID: text().optional(),
  /** What was built, set by the image. */
  BUILD_VERSION: text().default('dev'),
  BUILD_COMMIT: text().default('unknown'),
  /** RFC 3339. */
  BUILD_DATE: text().default('unknown'),
});

export type ProcessSettings = z.output<typeof processSettings>;

/** Settings that every controller process has; a service extends them with its own. */
export const controllerSettings = processSettings.extend({
  /** Reconciles that run side by side. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32),
  LEADER_ELECT: flag().default(true).meta({ flag: 'leader-elect', form: 'flag' }),
  /** Where the lease is kept; the pod's own namespace, when absent. */
  LEASE_NAMESPACE: text().optional().meta({ flag: 'leader-election-namespace' }),
  /** Templates that have a label of their own in metrics however many there are. */
  METRICS_TEMPLATE_LABELS: list().default([]),
  NATS_STREAM_REPLICAS: integer({ min: 1, max: 5 }).default(1),
  NATS_STREAM_RETENTION: durationMs().default(604_800_000),
  NATS_STREAM_MAX_BYTES: integer({ min: 1_048_576, max: Number.MAX_SAFE_INTEGER }).default(268_435_456),
  NATS_RECORD_MAX_BYTES: integer({ min: 1_048_576, max: Number.MAX_SAFE_INTEGER }).default(67_108_864),
  /** Absent: deadlines are timers of the process alone. */
  REDIS_URL: url(['redis', 'rediss']).optional(),
  REDIS_USER: text().optional(),
  REDIS_PASSWORD: secret().optional(),
  REDIS_CA_FILE: text().optional(),
  /** Keeps the keys of installations that share a Redis apart. */
  REDIS_PREFIX: text().default('sandlot'),
  /** How often Redis is compared with the deadlines of the objects. */
  DEADLINE_AUDIT_INTERVAL: durationMs().default(60_000),
});

export type ControllerSettings = z.output<typeof controllerSettings>;
