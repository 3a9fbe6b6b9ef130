import { labels, nameHash, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { controllerOf, createInformer, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, PersistentVolumeClaim, Pod, Service, Store } from '@sandlot/kube';
import type { RecentWrites } from '../writes/recent-writes.ts';
import { reduceChild, reducePod, reduceSandbox } from './transform.ts';

/** Index of Pods by the UID of their controller. */
export const BY_OWNER = 'byOwnerUid';

/** Index of Sandboxes by namespace and the name hash that their children carry as a label. */
export const BY_NAME_HASH = 'byNameHash';

/** The collections this controller follows. Of Pods, Services and disks only those that carry the tracking label. */
export interface Informers {
  readonly sandboxes: Informer<Sandbox>;
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
  readonly disks: Informer<PersistentVolumeClaim>;
}

/** The stores of the informers. */
export interface Caches {
  readonly sandboxes: Store<Sandbox>;
  readonly pods: Store<Pod>;
  readonly services: Store<Service>;
  readonly disks: Store<PersistentVolumeClaim>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespace' | 'clock' | 'random' | 'metrics' | 'log'>;

/** Builds the informers and lets `recent` follow what they show. */
export function createInformers(shared: Shared, recent: RecentWrites): Informers {
  const tracked = { ...shared, labelSelector: labels.nameHash };
  const informers = {
    sandboxes: createInformer({
      ...shared,
      resource: sandboxes,
      indexers: { [BY_NAME_HASH]: nameHashKeys },
      transform: reduceSandbox,
    }),
    pods: createInformer({ ...tracked, resource: pods, indexers: { [BY_OWNER]: ownerUids }, transform: reducePod }),
    services: createInformer({ ...tracked, resource: services, transform: reduceChild<Service> }),
    disks: createInformer({
      ...tracked,
      resource: persistentVolumeClaims,
      transform: reduceChild<PersistentVolumeClaim>,
    }),
  };
  informers.sandboxes.onChange((change) => recent.observed(sandboxes.kind, change));
  informers.pods.onChange((change) => recent.observed(pods.kind, change));
  informers.services.onChange((change) => recent.observed(services.kind, change));
  informers.disks.onChange((change) => recent.observed(persistentVolumeClaims.kind, change));
  return informers;
}

export function cachesOf({ sandboxes, pods, services, disks }: Informers): Caches {
  return { sandboxes: sandboxes.store, pods: pods.store, services: services.store, disks: disks.store };
}

function ownerUids(object: KubeObject): readonly string[] {
  const uid = controllerOf(object)?.uid;
  return uid === undefined ? [] : [uid];
}

/** Children of the Sandbox's name may have no owner to find them by. */
function nameHashKeys({ metadata: { namespace = '', name = '' } }: KubeObject): readonly string[] {
  return [`${namespace}/${nameHash(name)}`];
}
