import { labels } from '@sandlot/api-types';
import { getKey, watchSource } from '@sandlot/kube';
import type { Pod, Source } from '@sandlot/kube';
import { BY_NODE } from '../agent/agents.ts';
import { BY_ORIGINAL, BY_UID } from './informers.ts';
import type { Informers } from './informers.ts';

/** Which change of which object enqueues which SandboxSnapshots. */
export function watchSources({ snapshots, classes, restoring, agents, nodes }: Informers): Source[] {
  const keysOf = (index: string, value: string | undefined): string[] =>
    value === undefined ? [] : [...snapshots.store.listByIndex(index, value)].map(getKey);
  return [
    watchSource(snapshots, (snapshot) => [
      getKey(snapshot),
      ...keysOf(BY_ORIGINAL, getKey(snapshot)),
      // A deletion waits for the copies that need what the bucket has.
      ...keysOf(BY_UID, snapshot.status?.remoteOf),
    ]),
    watchSource(classes, () => [...snapshots.store.values()].map(getKey)),
    watchSource(restoring, (pod) => keysOf(BY_UID, pod.metadata.labels?.[labels.restoreSnapshot])),
    watchSource(agents, (pod) => keysOf(BY_NODE, pod.spec.nodeName)),
    watchSource(nodes, (node, { next }) => (next === undefined ? keysOf(BY_NODE, node.metadata.name) : [])),
  ];
}

/** Which change enqueues which Node: its agent can say what the node is. */
export function watchNodeSources({ agents, nodes }: Informers): Source[] {
  const ofAgent = ({ spec: { nodeName } }: Pod): string[] => (nodeName === undefined ? [] : [nodeName]);
  return [watchSource(agents, ofAgent), watchSource(nodes, (node) => [getKey(node)])];
}
