import { hostname } from 'node:os';
import { connectBus, nullBus } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import { createKubeClient, createKubeMetrics, createManager, loadCredentials } from '@sandlot/kube';
import type { KubeClient, KubeMetrics, Manager } from '@sandlot/kube';
import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Logger, Random } from '@sandlot/std';
import { createBusMetrics, createLogger, createMetrics, serveProbes, startTracing } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import type { ControllerSettings } from './settings.ts';

/** What a controller is built from. */
export interface ControllerParts {
  readonly client: KubeClient;
  readonly manager: Manager;
  readonly bus: Bus;
  readonly registry: MetricsRegistry;
  readonly kubeMetrics: KubeMetrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface ControllerProcess {
  /** `claim-controller`; names the process in logs, traces, NATS and the lease `sandlot-<name>`. */
  readonly name: string;
  readonly settings: ControllerSettings;
  /** Adds informers and controllers to the manager; returns what has to end with the process. */
  build(parts: ControllerParts): { close?(): Promise<void> };
}

/**
 * Runs a controller until SIGTERM or SIGINT: telemetry, API client, bus, lease, probes, then the manager. Resolves when
 * all work has drained and the lease is released; rejects when the process cannot start or the lease is lost, so that it
 * is restarted from nothing.
 */
export async function runController({ name, settings, build }: ControllerProcess): Promise<void> {
  const abort = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => abort.abort());
  const log = createLogger({ service: name, level: settings.LOG_LEVEL });
  const metrics = createMetrics();
  const tracing = startTracing({
    service: name,
    endpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
    sampleRatio: settings.TRACE_SAMPLE_RATIO,
    log,
    onLost: metrics.countLostSpans,
  });
  const kubeMetrics = createKubeMetrics(metrics.registry);
  const credentials = await loadCredentials({ kubeconfig: settings.KUBECONFIG });
  const client = createKubeClient({ credentials, metrics: kubeMetrics, userAgent: `sandlot-${name}` });
  const bus = await openBus(name, settings, { log, registry: metrics.registry });
  const manager = createManager({ client, log, metrics: kubeMetrics, lease: leaseOf(name, settings) });
  const parts = { client, manager, bus, kubeMetrics, clock: systemClock, random: systemRandom, log };
  const controller = build({ ...parts, registry: metrics.registry });
  const probes = await serveProbes({
    port: settings.PROBE_PORT,
    live: () => manager.live(),
    ready: () => manager.ready(),
  });
  const scrape = await metrics.serve({ port: settings.METRICS_PORT });
  log.info({ probePort: probes.port, metricsPort: scrape.port, node: process.version }, `${name} started`);
  try {
    await manager.run(abort.signal);
  } finally {
    await controller.close?.();
    await Promise.allSettled([probes.close(), scrape.close(), bus.close(), client.close()]);
    await tracing.shutdown();
    log.info({}, `${name} stopped`);
  }
}

function leaseOf(name: string, settings: ControllerSettings): Parameters<typeof createManager>[0]['lease'] {
  if (!settings.LEADER_ELECT) return undefined;
  const identity = settings.POD_NAME ?? `${hostname()}-${process.pid}`;
  return { name: `sandlot-${name}`, namespace: settings.POD_NAMESPACE, identity };
}

async function openBus(
  service: string,
  settings: ControllerSettings,
  { log, registry }: { log: Logger; registry: MetricsRegistry },
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
    streams: { replicas: settings.NATS_STREAM_REPLICAS },
  });
}
