import {
  labels,
  memoryStates,
  nameHash,
  sandboxes,
  sandboxSnapshotClasses,
  sandboxSnapshots,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotClass } from '@sandlot/api-types';
import {
  createInformer,
  findController,
  networkPolicies,
  nodes,
  persistentVolumeClaims,
  podDisruptionBudgets,
  pods,
  services,
} from '@sandlot/kube';
import type {
  Indexers,
  Informer,
  InformerOptions,
  KubeObject,
  NetworkPolicy,
  Node,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Service,
} from '@sandlot/kube';
import { hasMemoryState, isProtected } from '../drain/protection.ts';
import type { Settings } from '../plan/snapshot.ts';
import { reduceChild, reduceNode, reducePod, reducePolicy, reduceSandbox } from './transform.ts';

/** Index of Pods by the UID of their controller. */
export const BY_OWNER = 'byOwnerUid';

/** Index of Pods with the label `sandlot.dev/memory`, by the name of their node. */
export const BY_MEMORY_NODE = 'byMemoryNode';

/** Index of Pods whose evictions wait until their memory is saved, by namespace. */
export const BY_PROTECTED_NAMESPACE = 'byProtectedNamespace';

/** Index of Sandboxes by namespace and the name hash that their children carry as a label. */
export const BY_NAME_HASH = 'byNameHash';

/** The collections this controller follows. Of children only those that carry the tracking label. */
export interface Informers {
  readonly sandboxes: Informer<Sandbox>;
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
  readonly disks: Informer<PersistentVolumeClaim>;
  /** The NetworkPolicies of templates and namespaces. */
  readonly policies: Informer<NetworkPolicy>;
  /** The SandboxSnapshots that this controller made. Absent in an installation that does not hibernate. */
  readonly hibernations?: Informer<SandboxSnapshot>;
  /** Absent in an installation that does not move Sandboxes from nodes that are being emptied. */
  readonly drain?: DrainInformers;
}

export interface DrainInformers {
  readonly nodes: Informer<Node>;
  readonly classes: Informer<SandboxSnapshotClass>;
  /** The budgets that this controller keeps. */
  readonly budgets: Informer<PodDisruptionBudget>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespaces' | 'clock' | 'random' | 'metrics' | 'log'>;

interface Choices {
  readonly settings: Pick<Settings, 'snapshotsEnabled' | 'drainEnabled'>;
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
    pods: createInformer({ ...tracked, resource: pods, indexers: podIndexers, transform: reducePod }),
    services: createInformer({ ...tracked, resource: services, transform: reduceChild<Service> }),
    disks: createInformer({
      ...tracked,
      resource: persistentVolumeClaims,
      transform: reduceChild<PersistentVolumeClaim>,
    }),
    policies: createInformer({
      ...shared,
      labelSelector: labels.protects,
      resource: networkPolicies,
      transform: reducePolicy,
    }),
    ...(settings.snapshotsEnabled ? { hibernations: createHibernationInformer(tracked) } : {}),
    ...(settings.drainEnabled ? { drain: createDrainInformers(shared) } : {}),
  };
}

function createHibernationInformer(tracked: Shared & Pick<InformerOptions<KubeObject>, 'labelSelector'>) {
  const indexers = { [BY_OWNER]: listOwnerUids };
  return createInformer({ ...tracked, resource: sandboxSnapshots, indexers, transform: reduceChild<SandboxSnapshot> });
}

function createDrainInformers(shared: Shared): DrainInformers {
  const inCluster = { ...shared, namespaces: undefined };
  return {
    nodes: createInformer({ ...inCluster, resource: nodes, transform: reduceNode }),
    classes: createInformer({ ...inCluster, resource: sandboxSnapshotClasses, transform: reduceChild }),
    budgets: createInformer({
      ...shared,
      labelSelector: `${labels.memory}=${memoryStates.protected}`,
      resource: podDisruptionBudgets,
      transform: reduceChild,
    }),
  };
}

const podIndexers: Indexers<Pod> = {
  [BY_OWNER]: listOwnerUids,
  [BY_MEMORY_NODE]: (pod) => (hasMemoryState(pod) && pod.spec.nodeName !== undefined ? [pod.spec.nodeName] : []),
  [BY_PROTECTED_NAMESPACE]: (pod) => (isProtected(pod) ? [pod.metadata.namespace ?? ''] : []),
};

function listOwnerUids(object: KubeObject): readonly string[] {
  const uid = findController(object)?.uid;
  return uid === undefined ? [] : [uid];
}

/** Children of the Sandbox's name may have no owner to find them by. */
function nameHashKeys({ metadata: { namespace = '', name = '' } }: KubeObject): readonly string[] {
  return [`${namespace}/${nameHash(name)}`];
}
