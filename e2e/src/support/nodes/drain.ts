import { nodes } from '@sandlot/kube';
import { runKubectlOrFail } from '../kubectl.ts';
import type { Team } from '../team.ts';

/** Drains the node of the pods with these labels. The controllers stay on it. */
export async function drain(team: Team, podSelector: string): Promise<void> {
  const how = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=60s'];
  await runKubectlOrFail(['drain', await readNodeName(team), ...how, `--pod-selector=${podSelector}`]);
}

/** Keeps pods off the node. */
export async function cordon(team: Team): Promise<void> {
  await runKubectlOrFail(['cordon', await readNodeName(team)]);
}

/** Lets pods onto the node again. */
export async function uncordon(team: Team): Promise<void> {
  await runKubectlOrFail(['uncordon', await readNodeName(team)]);
}

async function readNodeName(team: Team): Promise<string> {
  const { items } = await team.client.listAll(nodes);
  const [node, ...others] = items;
  if (node === undefined || others.length > 0) throw new Error(`${items.length} nodes, not one`);
  return node.metadata.name ?? '';
}
