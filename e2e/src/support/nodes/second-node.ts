import { labels } from '@sandlot/api-types';
import { nodes } from '@sandlot/kube';
import { openCluster } from '@sandlot/local-cluster';
import type { AddedNode, ClusterHandle } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';

/** The name of the node that `npm run up` starts. */
export const FIRST_NODE = 'sandlot';

/** The cluster under test. */
export async function findCluster(): Promise<ClusterHandle> {
  const cluster = await openCluster({ root: checkoutRoot });
  if (cluster === undefined) throw new Error('the cluster under test is not there');
  return cluster;
}

/** Adds a node, and waits until the node component of the release serves it. Its disposal removes it. */
export async function addSecondNode({ client }: Team, name = 'sandlot-2'): Promise<AddedNode> {
  const node = await (await findCluster()).addNode(name);
  await eventually(`the node component serves ${name}`, async () => {
    const { metadata } = await client.get(nodes, { name });
    return metadata.labels?.[labels.snapshotFingerprint];
  });
  return node;
}
