import { labels, nameHash, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { findController, createInformer, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';

import type { Settings } from '../plan/snapshot.ts';
import { reduceChild, reducePod, reduceSandbox } from './transform.ts';

/** Index of Pods by the UID of their controller. */
export const BY_OWNER = 'byOwnerUid';

/** Index of Sandboxes by namespace and the name hash that their children carry as a label. */
export const BY_NAME_HASH = 'byNameHash';

/** The collections this controller follows. Of children only those that carry the tracking label. */
export interface Informers {
  readonly sandboxes: Informer<Sandbox>;
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
  readonly disks: Informer<PersistentVolumeClaim>;
  /** The SandboxSnapshots that this controller made. Absent in an installation that does not hibernate. */
  readonly hibernations?: Informer<SandboxSnapshot>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespace' | 'clock' | 'random' | 'metrics' | 'log'>;

interface Choices {
  readonly settings: Pick<Settings, 'snapshotsEnabled'>;
}

export function createInformers({ settings, ...shared }: Shared & Choices): Informers {
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
    ...(settings.snapshotsEnabled ? { hibernations: createHibernationInformer(tracked) } : {}),
  };
}

function createHibernationInformer(tracked: Shared & Pick<InformerOptions<KubeObject>, 'labelSelector'>) {
  const indexers = { [BY_OWNER]: listOwnerUids };
  return createInformer({ ...tracked, resource: sandboxSnapshots, indexers, transform: reduceChild<SandboxSnapshot> });
}

function listOwnerUids(object: KubeObject): readonly string[] {
  const uid = findController(object)?.uid;
  return uid === undefined ? [] : [uid];
}

/** Children of the Sandbox's name may have no owner to find them by. */
function nameHashKeys({ metadata: { namespace = '', name = '' } }: KubeObject): readonly string[] {
  return [`${namespace}/${nameHash(name)}`];
}
