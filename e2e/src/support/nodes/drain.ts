import { nodes } from '@sandlot/kube';
import { kubectl, runKubectlOrFail } from '../kubectl.ts';
import type { Team } from '../team.ts';

/** All Pods whose memory a drain saves, or has given up. */
export const WITH_MEMORY = 'sandlot.dev/memory';

/** Drains a node of the pods with these labels. The controllers stay on it. Default: the only node. */
export async function drain(team: Team, podSelector: string, nodeName?: string): Promise<void> {
  const how = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=60s'];
  await runKubectlOrFail(['drain', nodeName ?? (await readNodeName(team)), ...how, `--pod-selector=${podSelector}`]);
}

/**
 * Cordons a node and evicts the Pods of the release there, those of its DaemonSet excepted. Returns how often a budget refused an
 * eviction, which `kubectl drain` then tries again after five seconds.
 */
export async function drainOfRelease(nodeName: string): Promise<number> {
  const how = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=300s'];
  const args = ['drain', nodeName, ...how, '--pod-selector=app.kubernetes.io/name=sandlot'];
  const { code, stderr } = await kubectl(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed with ${code}:\n${stderr}`);
  return stderr.split('\n').filter((line) => line.includes("violate the pod's disruption budget")).length;
}

/** Keeps pods off a node. Default: the only node. */
export async function cordon(team: Team, nodeName?: string): Promise<void> {
  await runKubectlOrFail(['cordon', nodeName ?? (await readNodeName(team))]);
}

/** Lets pods onto a node again. Default: the only node. */
export async function uncordon(team: Team, nodeName?: string): Promise<void> {
  await runKubectlOrFail(['uncordon', nodeName ?? (await readNodeName(team))]);
}

async function readNodeName(team: Team): Promise<string> {
  const { items } = await team.client.listAll(nodes);
  const [node, ...others] = items;
  if (node === undefined || others.length > 0) throw new Error(`${items.length} nodes, not one`);
  return node.metadata.name ?? '';
}
