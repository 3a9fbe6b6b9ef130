import { labels, sandboxSnapshotClasses, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotClass } from '@sandlot/api-types';
import { createInformer, formatKey, nodes, pods } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, Node, Pod } from '@sandlot/kube';
import type { ServedNamespaces } from '@sandlot/service';
import { BY_NODE } from '../agent/agents.ts';

/** Index of SandboxSnapshots by their UID, which the mark of a Pod names. */
export const BY_UID = 'byUid';
/** Index of Pods by the SandboxSnapshot that their mark names. */
export const BY_SNAPSHOT = 'bySnapshot';

/** Index of SandboxSnapshots by their namespace. */
export const BY_NAMESPACE = 'byNamespace';
/** Index of SandboxSnapshots that are copies, by the key of the one that they copy. */
export const BY_ORIGINAL = 'byOriginal';

export interface Informers {
  readonly snapshots: Informer<SandboxSnapshot>;
  readonly classes: Informer<SandboxSnapshotClass>;
  /** Pods that are marked for a restore. */
  readonly restoring: Informer<Pod>;
  /** Pods of the agents. */
  readonly agents: Informer<Pod>;
  readonly nodes: Informer<Node>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'clock' | 'random' | 'metrics' | 'log'>;

export interface Places {
  readonly namespaces: ServedNamespaces;
  readonly agentNamespace: string;
  readonly agentSelector: string;
}

export function createInformers(shared: Shared, { namespaces, agentNamespace, agentSelector }: Places): Informers {
  return {
    snapshots: createInformer({
      ...shared,
      namespaces,
      resource: sandboxSnapshots,
      indexers: {
        [BY_UID]: ({ metadata }) => listPresent(metadata.uid),
        [BY_NAMESPACE]: ({ metadata }) => listPresent(metadata.namespace),
        [BY_NODE]: listNodesOfSnapshot,
        [BY_ORIGINAL]: listOriginal,
      },
    }),
    classes: createInformer({ ...shared, resource: sandboxSnapshotClasses }),
    restoring: createInformer({
      ...shared,
      namespaces,
      resource: pods,
      labelSelector: labels.restoreSnapshot,
      indexers: { [BY_SNAPSHOT]: ({ metadata }) => listPresent(metadata.labels?.[labels.restoreSnapshot]) },
      transform: reducePod,
    }),
    agents: createInformer({
      ...shared,
      namespaces: [agentNamespace],
      resource: pods,
      labelSelector: agentSelector,
      indexers: { [BY_NODE]: ({ spec }) => listPresent(spec.nodeName) },
      transform: reducePod,
    }),
    nodes: createInformer({ ...shared, resource: nodes, transform: reduceNode }),
  };
}

function listPresent(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

function listNodesOfSnapshot({ status }: SandboxSnapshot): readonly string[] {
  return [...new Set([...listPresent(status?.source?.nodeName), ...listPresent(status?.restore?.nodeName)])];
}

function listOriginal({ metadata: { namespace }, spec: { copyOf } }: SandboxSnapshot): readonly string[] {
  return copyOf === undefined ? [] : [formatKey({ namespace, name: copyOf.snapshotName })];
}

/** A Pod as the caches keep it: of spec and status only what decisions read. */
function reducePod({ metadata, spec: { nodeName }, status }: Pod): Pod {
  const { name, namespace, uid, labels: given, annotations, ownerReferences, deletionTimestamp } = metadata;
  const { resourceVersion, creationTimestamp } = metadata;
  const identity = { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp };
  return {
    metadata: { ...identity, labels: given, annotations, ownerReferences },
    spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
    status: { phase: status?.phase, podIP: status?.podIP },
  };
}

/** A Node as the cache keeps it: its status changes every few minutes and is large. */
function reduceNode({ metadata: { name, uid, resourceVersion, labels: given } }: Node): Node {
  return { metadata: { name, uid, resourceVersion, labels: given } };
}
