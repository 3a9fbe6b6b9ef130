import { labels, nameHash, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { findController, createInformer, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';

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

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespace' | 'clock' | 'random' | 'metrics' | 'log'>;

export function createInformers(shared: Shared): Informers {
  const tracked = { ...shared, labelSelector: labels.nameHash };
  return {
    sandboxes: createInformer({
      ...shared,
      resource: sandboxes,
      indexers: { [BY_NAME_HASH]: nameHashKeys },
      transform: reduceSandbox,
    }),
    pods: createInformer({ ...tracked, resource: pods, indexers: { [BY_OWNER]: listOwnerUids }, transform: reducePod }),
    services: createInformer({ ...tracked, resource: services, transform: reduceChild<Service> }),
    disks: createInformer({
      ...tracked,
      resource: persistentVolumeClaims,
      transform: reduceChild<PersistentVolumeClaim>,
    }),
  };
}

function listOwnerUids(object: KubeObject): readonly string[] {
  const uid = findController(object)?.uid;
  return uid === undefined ? [] : [uid];
}

/** Children of the Sandbox's name may have no owner to find them by. */
function nameHashKeys({ metadata: { namespace = '', name = '' } }: KubeObject): readonly string[] {
  return [`${namespace}/${nameHash(name)}`];
}
