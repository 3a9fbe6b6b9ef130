import { labels, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { createInformer, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import { BY_NAME_HASH, BY_OWNER, nameHashKeys, ownerUids } from '../observe.ts';
import type { RecentWrites } from '../writes/recent-writes.ts';
import { reducedPod, reducedSandbox, withoutManagedFields } from './transform.ts';

/** The collections this controller follows. Of Pods, Services and disks only those that carry the tracking label. */
export interface Informers {
  readonly sandboxes: Informer<Sandbox>;
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
  readonly claims: Informer<PersistentVolumeClaim>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespace' | 'clock' | 'random' | 'metrics' | 'log'>;

/** Builds the informers and keeps `recent` told of what they show. */
export function createInformers(shared: Shared, recent: RecentWrites): Informers {
  const tracked = { ...shared, labelSelector: labels.nameHash };
  const informers = {
    sandboxes: createInformer({
      ...shared,
      resource: sandboxes,
      indexers: { [BY_NAME_HASH]: nameHashKeys },
      transform: reducedSandbox,
    }),
    pods: createInformer({ ...tracked, resource: pods, indexers: { [BY_OWNER]: ownerUids }, transform: reducedPod }),
    services: createInformer({ ...tracked, resource: services, transform: withoutManagedFields<Service> }),
    claims: createInformer({
      ...tracked,
      resource: persistentVolumeClaims,
      transform: withoutManagedFields<PersistentVolumeClaim>,
    }),
  };
  informers.sandboxes.onChange((change) => recent.observed(sandboxes.kind, change));
  informers.pods.onChange((change) => recent.observed(pods.kind, change));
  informers.services.onChange((change) => recent.observed(services.kind, change));
  informers.claims.onChange((change) => recent.observed(persistentVolumeClaims.kind, change));
  return informers;
}
