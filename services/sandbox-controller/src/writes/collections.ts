import { sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { createOwnWrites, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { Informer, KubeObject, OwnWrites, PersistentVolumeClaim, Pod, Resource, Service } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Informers } from '../wiring/informers.ts';
import { listSandboxKeys } from '../wiring/sources.ts';

/** The objects of one kind: their resource, and what the cache and this process's own writes show of them. */
export interface Collection<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly own: OwnWrites<T>;
}

/**
 * Everything that this controller writes. A pass that reads from here does not repeat a write because the cache lags. This
 * only saves requests: the names and UIDs in every write keep a pass on an old view harmless.
 */
export interface Collections {
  readonly sandboxes: Collection<Sandbox>;
  readonly pods: Collection<Pod>;
  readonly services: Collection<Service>;
  readonly disks: Collection<PersistentVolumeClaim>;
  /** Absent in an installation that does not hibernate. */
  readonly hibernations?: Collection<SandboxSnapshot>;
}

export interface CollectionsOptions {
  readonly clock: Clock;
  /**
   * Called with the key of a Sandbox when no watch shows a write to it or to a child in time. Passes then trust the cache
   * again, and no event would enqueue the Sandbox.
   */
  readonly enqueue: (key: string) => void;
}

export function createCollections(informers: Informers, { clock, enqueue }: CollectionsOptions): Collections {
  const isSandbox = (resource: Resource<KubeObject>): boolean => resource.kind === sandboxes.kind;
  const buildCollection = <T extends KubeObject>(resource: Resource<T>, informer: Informer<T>): Collection<T> => {
    const own: OwnWrites<T> = createOwnWrites({
      informer,
      clock,
      onDoubt: (key, object) => {
        own.forget(key);
        if (object === undefined) return;
        const keys = isSandbox(resource) ? [key] : listSandboxKeys(object, informers.sandboxes.store);
        for (const sandboxKey of keys) enqueue(sandboxKey);
      },
    });
    return { resource, own };
  };
  return {
    sandboxes: buildCollection(sandboxes, informers.sandboxes),
    pods: buildCollection(pods, informers.pods),
    services: buildCollection(services, informers.services),
    disks: buildCollection(persistentVolumeClaims, informers.disks),
    ...(informers.hibernations === undefined
      ? {}
      : { hibernations: buildCollection(sandboxSnapshots, informers.hibernations) }),
  };
}

/** Ends the timers of `collections`. */
export function closeCollections({ sandboxes: own, ...children }: Collections): void {
  for (const collection of [own, ...Object.values(children)]) collection.own[Symbol.dispose]();
}
