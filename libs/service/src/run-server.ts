import type { BusOptions } from '@sandlot/bus';
import type { Informer } from '@sandlot/kube';
import { openProcess, serveHealth, stopSignal } from './open-process.ts';
import type { ProcessParts } from './open-process.ts';
import type { ProcessSettings } from './settings.ts';

/** A server that already listens, as `build` returns it. */
export interface RunningServer {
  /** Names and numbers of its ports, for the log message at its start. */
  readonly ports: Readonly<Record<string, number>>;
  /** Its informers. The server is ready once all of them have synced. */
  readonly informers: readonly Informer<unknown>[];
  /** Refuses new requests, finishes those in flight within its own limit, and closes. Called once. */
  drain(): Promise<void>;
}

export interface ServerProcess {
  /** Name of the process in logs, traces and NATS, such as `gateway`. */
  readonly name: string;
  readonly settings: ProcessSettings;
  /** Size of the event streams. Default `none`: the process does not create them. */
  readonly streams?: BusOptions['streams'];
  readonly build: (parts: ProcessParts) => Promise<RunningServer>;
}

/** The event loop counts as stuck when a timer is later than this. */
const STUCK_MS = 10_000;
const BEAT_MS = 1_000;

/**
 * Runs a server until SIGTERM or SIGINT: telemetry, API client, bus, the server, its informers, probes. Any number of
 * replicas can serve at the same time, without a lease. Resolves when the server has drained. Rejects when it cannot
 * start.
 */
export async function runServer({ name, settings, streams = 'none', build }: ServerProcess): Promise<void> {
  const stop = stopSignal();
  await using open = new AsyncDisposableStack();
  const input = { name, settings, streams };
  const opened = await openProcess(input, open);
  const { clock, log } = opened;
  const stopped = Promise.withResolvers<undefined>();
  stop.addEventListener('abort', () => stopped.resolve(undefined), { once: true });
  if (stop.aborted) return;
  const server = await build(opened);
  const informing = new AbortController();
  const following = Promise.all(server.informers.map((informer) => informer.run(informing.signal)));
  open.defer(async () => {
    informing.abort();
    await following;
  });
  let lastBeatMs = clock.monotonic();
  let beat = clock.setTimeout(onBeat, BEAT_MS);
  function onBeat(): void {
    lastBeatMs = clock.monotonic();
    beat = clock.setTimeout(onBeat, BEAT_MS);
  }
  open.defer(() => beat.cancel());
  const health = {
    isLive: () => clock.monotonic() - lastBeatMs < STUCK_MS,
    isReady: () => !stop.aborted && server.informers.every((informer) => informer.hasSynced()),
    listForbidden: () => [...new Set(server.informers.flatMap((informer) => informer.listForbidden()))],
  };
  await serveHealth(input, { ...opened, health, ports: server.ports }, open);
  await stopped.promise;
  log.info({}, `${name} is stopping`);
  await server.drain();
}
