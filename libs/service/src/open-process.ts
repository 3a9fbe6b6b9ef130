import { hostname } from 'node:os';
import { connectBus, createNullBus } from '@sandlot/bus';
import type { Bus, BusOptions } from '@sandlot/bus';
import { createKubeClient, createKubeMetrics, splitLimits, loadCredentials, TermLimits } from '@sandlot/kube';
import type { KubeClient, KubeMetrics, RateLimits } from '@sandlot/kube';
import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { createBusMetrics, createLogger, createMetrics, serveProbes, startTracing } from '@sandlot/telemetry';
import type { Metrics, MetricsRegistry, Tracing } from '@sandlot/telemetry';
import { buildNatsPassword } from './nats-password.ts';
import type { ProcessSettings } from './settings.ts';

/** The dependencies of every process. */
export interface ProcessParts {
  readonly client: KubeClient;
  readonly bus: Bus;
  readonly registry: MetricsRegistry;
  readonly kubeMetrics: KubeMetrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Identifies the replica in the lease and in Events: the pod's name. */
  readonly instance: string;
}

export interface OpenedProcess extends ProcessParts {
  readonly metrics: Metrics;
  /** Those that the client enforces before each request. */
  readonly termLimits: TermLimits;
}

export interface ProcessInput {
  /** Name of the process in logs, traces and NATS, such as `claim-controller`. */
  readonly name: string;
  readonly settings: ProcessSettings;
  readonly streams: BusOptions['streams'];
}

/** Returns a signal that aborts on SIGTERM and SIGINT. */
export function stopSignal(): AbortSignal {
  const abort = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => abort.abort());
  return abort.signal;
}

/** Where a process reports what it does. */
export interface Reporting {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Creates the log and the metrics of a process. */
export function createReporting({ name, settings }: ProcessInput): Reporting {
  return { log: createLogger({ service: name, level: settings.LOG_LEVEL }), metrics: createProcessMetrics(settings) };
}

/** Opens logs, metrics, traces, the API client and the bus, which `open` closes. Rejects when the process cannot start. */
export async function openProcess(input: ProcessInput, open: AsyncDisposableStack): Promise<OpenedProcess> {
  const { name, settings } = input;
  const { log, metrics } = createReporting(input);
  const { registry } = metrics;
  const tracing = startProcessTracing(name, settings, { log, metrics });
  open.defer(() => tracing.shutDown());
  const kubeMetrics = createKubeMetrics(registry);
  const credentials = await loadCredentials({ kubeconfig: settings.KUBECONFIG, mount: settings.SERVICE_ACCOUNT_DIR });
  const limits = findLimits(settings);
  const termLimits = new TermLimits();
  const client = createKubeClient({
    credentials,
    metrics: kubeMetrics,
    userAgent: `sandlot-${name}`,
    limits,
    beforeSend: () => termLimits.enforce(),
  });
  open.defer(() => client.close());
  const bus = await openBus(input, { log, metrics });
  open.defer(() => bus.close());
  const instance = settings.POD_NAME ?? `${hostname()}-${process.pid}`;
  const reporting = { registry, kubeMetrics, metrics, log };
  return { ...reporting, client, termLimits, bus, instance, clock: systemClock, random: systemRandom };
}

/** The state of the process for liveness and readiness probes. */
export interface Health {
  isLive(): boolean;
  isReady(): boolean;
  /** The namespaces that the API server forbids to list. A process serves the others meanwhile, so they are a remark of `/readyz`. */
  listForbidden?(): readonly string[];
}

/** Serves probes and metrics, and logs the start of the process with its ports. */
export async function serveHealth(
  { name, settings }: ProcessInput,
  { health, metrics, log, ports = {} }: Reporting & { health: Health; ports?: Readonly<Record<string, number>> },
  open: AsyncDisposableStack,
): Promise<void> {
  const probes = await serveProbes({
    port: settings.PROBE_PORT,
    isLive: () => health.isLive(),
    isReady: () => health.isReady(),
    listRemarks: () => (health.listForbidden?.() ?? []).map(formatForbidden),
  });
  open.defer(() => probes.close());
  const scrape = await metrics.serve({ port: settings.METRICS_PORT });
  open.defer(() => scrape.close());
  const listening = { ...ports, probePort: probes.port, metricsPort: scrape.port };
  log.info({ ...listening, node: process.version }, `${name} started`);
}

function formatForbidden(namespace: string): string {
  return `namespace ${namespace} is not served: the API server forbids to list its objects`;
}

function createProcessMetrics({ BUILD_VERSION, BUILD_COMMIT, BUILD_DATE }: ProcessSettings): Metrics {
  return createMetrics({ build: { version: BUILD_VERSION, commit: BUILD_COMMIT, date: BUILD_DATE } });
}

function findLimits({ KUBE_API_QPS: perSecond, KUBE_API_BURST: burst }: ProcessSettings): RateLimits | undefined {
  return perSecond <= 0 ? undefined : splitLimits({ perSecond, burst: burst <= 0 ? perSecond * 2 : burst });
}

/** Default endpoint of the OpenTelemetry exporters. */
const OTLP_DEFAULT = 'http://localhost:4318';

function findEndpoint({ TRACING, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: ProcessSettings): string | undefined {
  if (TRACING === false) return undefined;
  return TRACING === true ? (endpoint ?? OTLP_DEFAULT) : endpoint;
}

function startProcessTracing(service: string, settings: ProcessSettings, { log, metrics }: Reporting): Tracing {
  return startTracing({
    service,
    version: settings.BUILD_VERSION,
    endpoint: findEndpoint(settings),
    sampleRatio: settings.TRACE_SAMPLE_RATIO,
    slow: { warmMs: settings.TRACE_SLOW_WARM, coldMs: settings.TRACE_SLOW_COLD },
    resource: {
      ...(settings.POD_NAME === undefined ? {} : { 'k8s.pod.name': settings.POD_NAME }),
      ...(settings.K8S_CLUSTER_UID === undefined ? {} : { 'k8s.cluster.uid': settings.K8S_CLUSTER_UID }),
    },
    log,
    onLost: (spans, reason) => metrics.countLostSpans(spans, reason),
  });
}

/** Opens the bus of a process; the caller closes it. */
export async function openBus(
  { name, settings, streams }: ProcessInput,
  { log, metrics: { registry } }: Reporting,
): Promise<Bus> {
  if (settings.NATS_URL === undefined) return createNullBus();
  return connectBus({
    url: settings.NATS_URL,
    user: settings.NATS_USER,
    password: buildNatsPassword(settings, log),
    tls: settings.NATS_CA_FILE === undefined ? undefined : { caFile: settings.NATS_CA_FILE },
    service: name,
    log,
    metrics: createBusMetrics(registry),
    streams,
  });
}
