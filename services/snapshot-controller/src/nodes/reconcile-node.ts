import { labels } from '@sandlot/api-types';
import { done, nodes as nodeResource, requeueAfter, RetryableError } from '@sandlot/kube';
import type { Node, ReconcileContext, ReconcileResult, Store } from '@sandlot/kube';
import type { Agents } from '../agent/agents.ts';
import { eraseOrphans } from './erase-orphans.ts';
import type { OrphanDeps } from './erase-orphans.ts';

export interface NodeDeps extends OrphanDeps {
  readonly nodes: Store<Node>;
  readonly agents: Agents;
}

/** gVisor may be upgraded without a restart of the agent, and data may lose its object. */
const LOOK_AGAIN_MS = 300_000;

/**
 * Labels a Node with its fingerprint, by which Pods find the nodes that can restore them, and has its agent erase what no
 * object stands for. Key: the name of the Node.
 */
export async function reconcileNode(
  deps: NodeDeps,
  name: string,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  const { client, nodes, agents } = deps;
  const node = nodes.get(name);
  if (node === undefined || !agents.has(name)) return done;
  const agent = agents.get(name);
  const { node: answering, fingerprint } = await agent.describeNode(signal);
  if (answering !== name) throw new RetryableError(`the agent of node ${name} says that it is on node ${answering}`);
  if (node.metadata.labels?.[labels.snapshotFingerprint] !== fingerprint.hash) {
    const patch = { metadata: { labels: { [labels.snapshotFingerprint]: fingerprint.hash } } };
    await client.mergePatch(nodeResource, { name }, patch, { signal });
  }
  await eraseOrphans(deps, agent, signal);
  return requeueAfter(LOOK_AGAIN_MS, 'another look at the node');
}
