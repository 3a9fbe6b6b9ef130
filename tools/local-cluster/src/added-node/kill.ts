import { readRecords, stopProcess } from '../cluster/component.ts';
import type { ClusterPaths } from '../cluster/paths.ts';
import { LocalClusterError } from '../errors.ts';
import { killPodProcesses, removePodCgroups } from '../node/cgroups.ts';
import type { NodePlace } from '../node/place.ts';
import { findProcesses } from '../node/processes.ts';

const rounds = 20;

/**
 * Kills every process of an added node, as a loss of power does. With its last process its mount namespace ends, and with
 * that its mounts and the links of its pods. Works from any partial state.
 */
export async function killNode(paths: ClusterPaths, place: NodePlace): Promise<void> {
  const records = await readRecords(paths);
  // The kubelet first, because it would restart pods.
  for (const program of ['kubelet', 'containerd']) {
    const record = records.find(({ name }) => name === `${program}${place.suffix}`);
    if (record !== undefined) await stopProcess(record, 'SIGKILL');
  }
  await killPodProcesses(place.cgroup);
  await killMarked(place);
  await removePodCgroups(place.cgroup);
}

/** Kills the programs of the node and those that they started. Repeats, because shims start programs when a pod ends. */
async function killMarked({ name, env }: NodePlace): Promise<void> {
  const marks = Object.entries(env).map(([key, value]) => `${key}=${value}`);
  for (let round = 0; round < rounds; round += 1) {
    const found = await findProcesses((process) => marks.every((mark) => process.env.includes(mark)));
    if (found.length === 0) return;
    for (const identity of found) await stopProcess(identity, 'SIGKILL');
  }
  throw new LocalClusterError('TIMEOUT', `processes of the node ${name} start again and again: run  npm run down`);
}
