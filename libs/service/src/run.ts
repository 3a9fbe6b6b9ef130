import type { Bus } from '@sandlot/bus';
import { createManager, formatDivision } from '@sandlot/kube';
import type { ManagerOptions } from '@sandlot/kube';
import type { ControllerParts } from './controller-parts.ts';
import { openDeadlines } from './deadlines.ts';
import { openProcess, serveHealth, stopSignal } from './open-process.ts';
import { findStreamSizing } from './settings.ts';
import type { ControllerSettings } from './settings.ts';

export interface ControllerProcess {
  /** Name of the process in logs, traces, NATS and the lease `sandlot-<name>`, such as `claim-controller`. */
  readonly name: string;
  readonly settings: ControllerSettings;
  /** Adds informers and controllers to the manager. `close` is called at the end of the process. */
  readonly build: (parts: ControllerParts) => { close?(): Promise<void> };
}

/**
 * Runs a controller until SIGTERM or SIGINT: telemetry, API client, bus, lease, probes, then the manager. Resolves when
 * all work has drained and the lease is released. Rejects when the process cannot start. Closes everything in both cases.
 */
export async function runController({ name, settings, build }: ControllerProcess): Promise<void> {
  const stop = stopSignal();
  await using open = new AsyncDisposableStack();
  const input = {
    name,
    settings,
    streams: settings.NATS_DECLARE_STREAMS ? findStreamSizing(settings) : ('none' as const),
  };
  const opened = await openProcess(input, open);
  const { client, termLimits, bus, log, kubeMetrics, instance } = opened;
  const deadlines = await openDeadlines(name, settings, log);
  open.defer(() => deadlines.store?.close());
  for (const store of deadlines.shardStores ?? []) open.defer(() => store.close());
  const manager = createManager({
    client,
    log,
    metrics: kubeMetrics,
    termLimits,
    lease: buildLease(name, { instance, settings, bus }),
    shards: settings.SHARDS,
  });
  const controller = build({ ...opened, manager, deadlines, templateLabels: settings.METRICS_TEMPLATE_LABELS });
  open.defer(() => controller.close?.());
  await serveHealth(input, { ...opened, health: manager }, open);
  await manager.run(stop);
  log.info({}, `${name} is stopping`);
}

interface LeaseInput {
  readonly instance: string;
  readonly settings: ControllerSettings;
  readonly bus: Bus;
}

/** The bus reports a dead replica within a second, long before its lease expires. */
function buildLease(name: string, { instance, settings, bus }: LeaseInput): ManagerOptions['lease'] {
  if (!settings.LEADER_ELECT) return undefined;
  const formatName = (identity: string): string => `${settings.POD_NAMESPACE}/${name}/${identity}`;
  bus.announce(formatName(instance));
  // The processes of one number of shards hold a lease together. It is free at once when the last of them is gone.
  if (settings.SHARDS > 1) bus.announce(formatName(formatDivision(settings.SHARDS)));
  return {
    name: `sandlot-${name}`,
    namespace: settings.LEASE_NAMESPACE ?? settings.POD_NAMESPACE,
    identity: instance,
    isGone: (identity) => bus.isAbsent(formatName(identity)),
  };
}
