import { labels } from '@sandlot/api-types';
import { done, nodes as nodeResource, requeueAfter, RetryableError } from '@sandlot/kube';
import type { Node, ReconcileContext, ReconcileResult, Store } from '@sandlot/kube';
import type { AgentClient } from '../agent/agent-client.ts';
import type { Agents } from '../agent/agents.ts';
import { eraseOrphans } from './erase-orphans.ts';
import type { OrphanDeps } from './erase-orphans.ts';
import type { SilentNodes } from './silent-nodes.ts';

export interface NodeDeps extends OrphanDeps {
  readonly nodes: Store<Node>;
  readonly agents: Agents;
  readonly silent: SilentNodes;
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
  const { client, nodes, agents, silent } = deps;
  const node = nodes.get(name);
  if (node === undefined || !agents.has(name)) {
    silent.note(name, node !== undefined && needsAgent(deps, node));
    return done;
  }
  const agent = agents.get(name);
  const fingerprint = await silent.watch(name, () => getFingerprint(agent, name, signal));
  if (node.metadata.labels?.[labels.snapshotFingerprint] !== fingerprint) {
    const patch = { metadata: { labels: { [labels.snapshotFingerprint]: fingerprint } } };
    await client.mergePatch(nodeResource, { name }, patch, { signal });
  }
  await eraseOrphans(deps, agent, signal);
  return requeueAfter(LOOK_AGAIN_MS, 'another look at the node');
}

/** The DaemonSet has a Pod there, or Pods that are to be restored still find the node by its label. */
function needsAgent({ agents }: NodeDeps, { metadata: { name = '', labels: given } }: Node): boolean {
  return agents.hasPod(name) || given?.[labels.snapshotFingerprint] !== undefined;
}

async function getFingerprint(agent: AgentClient, name: string, signal: AbortSignal): Promise<string> {
  const { node, fingerprint } = await agent.describeNode(signal);
  if (node !== name) throw new RetryableError(`the agent of node ${name} says that it is on node ${node}`);
  return fingerprint.hash;
}
