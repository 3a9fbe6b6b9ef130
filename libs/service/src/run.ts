import { hostname } from 'node:os';
import { connectBus, nullBus } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import { createKubeClient, createKubeMetrics, createManager, limitsWithin, loadCredentials } from '@sandlot/kube';
import type { KubeClient, KubeMetrics, Manager, ManagerOptions, RateLimits } from '@sandlot/kube';
import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { createBusMetrics, createLogger, createMetrics, serveProbes, startTracing } from '@sandlot/telemetry';
import type { Metrics, MetricsRegistry, Tracing } from '@sandlot/telemetry';
import { openDeadlines } from './deadlines.ts';
import type { DeadlinePlace } from './deadlines.ts';
import type { ControllerSettings } from './settings.ts';

/** What a controller is built from. */
export interface ControllerParts {
  readonly client: KubeClient;
  readonly manager: Manager;
  readonly bus: Bus;
  readonly deadlines: DeadlinePlace;
  readonly registry: MetricsRegistry;
  readonly kubeMetrics: KubeMetrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Which replica this is, in the lease and in Events: the pod's name. */
  readonly instance: string;
}

export interface ControllerProcess {
  /** `claim-controller`; names the process in logs, traces, NATS and the lease `sandlot-<name>`. */
  readonly name: string;
  readonly settings: ControllerSettings;
  /** Adds informers and controllers to the manager; returns what has to end with the process. */
  readonly build: (parts: ControllerParts) => { close?(): Promise<void> };
}

/**
 * Runs a controller until SIGTERM or SIGINT: telemetry, API client, bus, lease, probes, then the manager. Resolves when
 * all work has drained and the lease is released; rejects when the process cannot start. Either way nothing stays open.
 */
export async function runController({ name, settings, build }: ControllerProcess): Promise<void> {
  const stop = stopSignal();
  const log = createLogger({ service: name, level: settings.LOG_LEVEL });
  const metrics = metricsOf(settings);
  await using open = new AsyncDisposableStack();
  const tracing = tracingOf(name, settings, { log, metrics });
  open.defer(() => tracing.shutdown());
  const kubeMetrics = createKubeMetrics(metrics.registry);
  const credentials = await loadCredentials({ kubeconfig: settings.KUBECONFIG, mount: settings.SERVICE_ACCOUNT_DIR });
  const limits = limitsOf(settings);
  const client = createKubeClient({ credentials, metrics: kubeMetrics, userAgent: `sandlot-${name}`, limits });
  open.defer(() => client.close());
  const bus = await openBus(name, settings, { log, metrics });
  open.defer(() => bus.close());
  const deadlines = await openDeadlines(name, settings, log);
  open.defer(() => deadlines.store?.close());
  const instance = settings.POD_NAME ?? `${hostname()}-${process.pid}`;
  const manager = createManager({
    client,
    log,
    metrics: kubeMetrics,
    lease: leaseOf(name, { instance, settings, bus }),
  });
  const { registry } = metrics;
  const clocks = { clock: systemClock, random: systemRandom };
  const controller = build({ client, manager, bus, deadlines, registry, kubeMetrics, log, instance, ...clocks });
  open.defer(() => controller.close?.());
  const probes = await serveProbes({
    port: settings.PROBE_PORT,
    live: () => manager.live(),
    ready: () => manager.ready(),
  });
  open.defer(() => probes.close());
  const scrape = await metrics.serve({ port: settings.METRICS_PORT });
  open.defer(() => scrape.close());
  log.info({ probePort: probes.port, metricsPort: scrape.port, node: process.version }, `${name} started`);
  await manager.run(stop);
  log.info({}, `${name} is stopping`);
}

function stopSignal(): AbortSignal {
  const abort = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => abort.abort());
  return abort.signal;
}

function metricsOf({ BUILD_VERSION, BUILD_COMMIT, BUILD_DATE }: ControllerSettings): Metrics {
  return createMetrics({ build: { version: BUILD_VERSION, commit: BUILD_COMMIT, date: BUILD_DATE } });
}

function limitsOf({ KUBE_API_QPS: perSecond, KUBE_API_BURST: burst }: ControllerSettings): RateLimits | undefined {
  return perSecond <= 0 ? undefined : limitsWithin({ perSecond, burst: burst <= 0 ? perSecond * 2 : burst });
}

/** Where OpenTelemetry sends to when nobody says. */
const OTLP_DEFAULT = 'http://localhost:4318';

function endpointOf({ TRACING, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: ControllerSettings): string | undefined {
  if (TRACING === false) return undefined;
  return TRACING === true ? (endpoint ?? OTLP_DEFAULT) : endpoint;
}

interface Reporting {
  readonly log: Logger;
  readonly metrics: Metrics;
}

function tracingOf(service: string, settings: ControllerSettings, { log, metrics }: Reporting): Tracing {
  return startTracing({
    service,
    version: settings.BUILD_VERSION,
    endpoint: endpointOf(settings),
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

interface LeaseInput {
  readonly instance: string;
  readonly settings: ControllerSettings;
  readonly bus: Bus;
}

/** The bus knows who is there: a replica that died is missed within a second, long before its lease expires. */
function leaseOf(name: string, { instance, settings, bus }: LeaseInput): ManagerOptions['lease'] {
  if (!settings.LEADER_ELECT) return undefined;
  const nameOf = (identity: string): string => `${settings.POD_NAMESPACE}/${name}/${identity}`;
  bus.announce(nameOf(instance));
  return {
    name: `sandlot-${name}`,
    namespace: settings.LEASE_NAMESPACE ?? settings.POD_NAMESPACE,
    identity: instance,
    isGone: (identity) => bus.isAbsent(nameOf(identity)),
  };
}

async function openBus(
  service: string,
  settings: ControllerSettings,
  { log, metrics: { registry } }: Reporting,
): Promise<Bus> {
  if (settings.NATS_URL === undefined) return nullBus();
  return connectBus({
    url: settings.NATS_URL,
    user: settings.NATS_USER,
    password: settings.NATS_PASSWORD?.reveal(),
    tls: settings.NATS_CA_FILE === undefined ? undefined : { caFile: settings.NATS_CA_FILE },
    service,
    log,
    metrics: createBusMetrics(registry),
    streams: {
      replicas: settings.NATS_STREAM_REPLICAS,
      maxAgeMs: settings.NATS_STREAM_RETENTION,
      maxBytes: settings.NATS_STREAM_MAX_BYTES,
      recordMaxBytes: settings.NATS_RECORD_MAX_BYTES,
    },
  });
}
