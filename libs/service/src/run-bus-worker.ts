import type { BusOptions } from '@sandlot/bus';
import { systemClock } from '@sandlot/std';
import { createReporting, openBus, serveHealth, stopSignal } from './open-process.ts';
import type { ProcessParts } from './open-process.ts';
import type { ProcessSettings } from './settings.ts';

export interface BusWorker {
  /** Name of the process in logs and NATS. */
  readonly name: string;
  readonly settings: ProcessSettings;
  readonly streams: BusOptions['streams'];
  /** Works until the signal aborts. */
  readonly work: (parts: Pick<ProcessParts, 'bus' | 'clock'>, stop: AbortSignal) => Promise<void>;
}

/**
 * Runs a process that uses NATS and nothing of Kubernetes, until SIGTERM or SIGINT: logs, metrics, bus, probes. Rejects when it
 * cannot start.
 */
export async function runBusWorker({ name, settings, streams, work }: BusWorker): Promise<void> {
  const stop = stopSignal();
  await using open = new AsyncDisposableStack();
  const input = { name, settings, streams };
  const reporting = createReporting(input);
  const bus = await openBus(input, reporting);
  open.defer(() => bus.close());
  const health = { isLive: () => true, isReady: () => !stop.aborted };
  await serveHealth(input, { ...reporting, health }, open);
  await work({ bus, clock: systemClock }, stop);
  reporting.log.info({}, `${name} is stopping`);
}
