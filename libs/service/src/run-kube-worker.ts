import { openProcess, serveHealth, stopSignal } from './open-process.ts';
import type { ProcessParts } from './open-process.ts';
import type { ProcessSettings } from './settings.ts';

/** Work on a few objects without informers. */
export interface Work {
  isReady(): boolean;
  /** Works until the signal aborts. */
  keep(stop: AbortSignal): Promise<void>;
}

export interface KubeWorker {
  /** Name of the process in logs and traces. */
  readonly name: string;
  readonly settings: ProcessSettings;
  readonly build: (parts: ProcessParts) => Work;
}

/** Runs a process that uses the Kubernetes API and needs no cache of it, until SIGTERM or SIGINT. Rejects when it cannot start. */
export async function runKubeWorker({ name, settings, build }: KubeWorker): Promise<void> {
  const stop = stopSignal();
  await using open = new AsyncDisposableStack();
  const input = { name, settings, streams: 'none' as const };
  const opened = await openProcess(input, open);
  const work = build(opened);
  const working = work.keep(stop);
  const health = { isLive: () => true, isReady: () => !stop.aborted && work.isReady() };
  await serveHealth(input, { ...opened, health }, open);
  await working;
  opened.log.info({}, `${name} is stopping`);
}
