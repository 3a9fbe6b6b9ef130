import { labels } from '@sandlot/api-types';
import { done, nodes as nodeResource, requeueAfter, RetryableError } from '@sandlot/kube';
import type { KubeClient, Node, ReconcileContext, ReconcileResult, Store } from '@sandlot/kube';
import type { Agents } from '../agent/agents.ts';

export interface NodeDeps {
  readonly client: KubeClient;
  readonly nodes: Store<Node>;
  readonly agents: Agents;
}

/** gVisor may be upgraded without a restart of the agent. */
const LOOK_AGAIN_MS = 300_000;

/** Labels a Node with its fingerprint, by which Pods find the nodes that can restore them. Key: the name of the Node. */
export async function reconcileNode(
  { client, nodes, agents }: NodeDeps,
  name: string,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  const node = nodes.get(name);
  if (node === undefined || !agents.has(name)) return done;
  const { node: answering, fingerprint } = await agents.get(name).describeNode(signal);
  if (answering !== name) throw new RetryableError(`the agent of node ${name} says that it is on node ${answering}`);
  if (node.metadata.labels?.[labels.snapshotFingerprint] !== fingerprint.hash) {
    const patch = { metadata: { labels: { [labels.snapshotFingerprint]: fingerprint.hash } } };
    await client.mergePatch(nodeResource, { name }, patch, { signal });
  }
  return requeueAfter(LOOK_AGAIN_MS, 'another look at the node');
}
