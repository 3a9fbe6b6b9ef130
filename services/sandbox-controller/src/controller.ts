import { createEventRecorder, keyOf, watchSource } from '@sandlot/kube';
import type { KubeObject } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { SANDBOX_TYPE } from './apply.ts';
import { createInformers } from './cache.ts';
import { lostNote } from './disk-notes.ts';
import { announceDeletion, announceStatus } from './lifecycle-events.ts';
import { createSandboxMetrics } from './metrics.ts';
import { sandboxKeysOf } from './observe.ts';
import { RecentWrites } from './recent-writes.ts';
import { reconcile } from './reconcile.ts';
import type { Settings } from './snapshot.ts';

export interface SandboxControllerOptions {
  readonly concurrency: number;
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  readonly settings: Settings;
}

/** Wires the sandbox-controller into a manager. */
export function addSandboxController(
  parts: ControllerParts,
  { concurrency, namespace, settings }: SandboxControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, kubeMetrics, instance } = parts;
  const recent = new RecentWrites(clock);
  const informers = createInformers({ client, namespace, clock, random, log, metrics: kubeMetrics }, recent);
  const controller = 'sandlot.dev/sandbox-controller';
  const recorder = createEventRecorder({ client, controller, instance, clock, random, log, metrics: kubeMetrics });
  const metrics = createSandboxMetrics(parts.registry);
  const caches = {
    sandboxes: informers.sandboxes.store,
    pods: informers.pods.store,
    services: informers.services.store,
    claims: informers.claims.store,
  };
  informers.sandboxes.onChange(({ old, next }) => {
    metrics.changed(old, next, clock.now());
    if (old !== undefined && next === undefined) announceDeletion(bus, old, clock.now());
  });
  informers.claims.onChange(({ old, next }) => {
    const note = lostNote(old, next);
    if (note === undefined || next === undefined) return;
    for (const key of sandboxKeysOf(next, caches.sandboxes)) {
      const object = caches.sandboxes.get(key);
      if (object !== undefined) recorder.event({ object: { ...object, ...SANDBOX_TYPE }, ...note });
    }
  });
  const deps = {
    client,
    recorder,
    recent,
    caches,
    clock,
    settings,
    onPublished: (...[before, after]: Parameters<typeof metrics.published>) => {
      metrics.published(before, after);
      announceStatus(bus, before, after);
    },
  };
  const ofChild = (child: KubeObject): string[] => sandboxKeysOf(child, caches.sandboxes);
  manager.add({
    name: 'sandbox',
    concurrency,
    sources: [
      watchSource(informers.sandboxes, (sandbox) => [keyOf(sandbox)]),
      watchSource(informers.pods, ofChild),
      watchSource(informers.services, ofChild),
      watchSource(informers.claims, ofChild),
    ],
    reconcile: (key, { signal }) => reconcile({ ...deps, signal }, key),
  });
  return { close: () => recorder.flush() };
}
