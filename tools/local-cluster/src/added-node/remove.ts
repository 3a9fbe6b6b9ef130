import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig } from '../cluster/control-plane.ts';
import { removeFolder } from '../node/cleanup.ts';
import { bridgeName } from '../node/network.ts';
import { deleteNode } from '../node/objects.ts';
import type { NodePlace } from '../node/place.ts';
import { exec } from '../process/exec.ts';
import { killNode } from './kill.ts';
import { getAddedPlace } from './place.ts';
import { readAddedNodes } from './record.ts';

/** Kills an added node and removes everything of it, its objects too. Works from any partial state, and without such a node. */
export async function removeAddedNode(context: ClusterContext, name: string): Promise<void> {
  const record = (await readAddedNodes(context.paths)).find((one) => one.name === name);
  if (record === undefined) return;
  const place = getAddedPlace(context, record);
  await killNode(context.paths, place);
  await deleteNode(context, name);
  // Otherwise the machine would send packets for the pods of the next node with these addresses to links that are gone.
  const pods = place.podRange.first.replace(/\d+$/, '0/24');
  await exec(['ip', 'neighbour', 'flush', 'dev', bridgeName, 'to', pods]);
  await exec(['ip', 'address', 'delete', `${place.address}/32`, 'dev', bridgeName]);
  await removeFiles(context, place);
}

/** Removes the folder with the record last: until then a second call finds the node. */
async function removeFiles({ paths }: ClusterContext, { name, suffix, run, lib, podLogs }: NodePlace): Promise<void> {
  for (const folder of [dirname(run), dirname(lib), podLogs]) await removeFolder(folder);
  const certificate = join(paths.pki, `kubelet${suffix}`);
  const records = ['namespace', 'containerd', 'kubelet'].map((program) => join(paths.run, `${program}${suffix}.json`));
  const files = [`${certificate}.crt`, `${certificate}.key`, formatComponentKubeconfig(paths, `kubelet${suffix}`)];
  for (const file of [...records, ...files, join(paths.state, `kubelet${suffix}.json`)])
    await rm(file, { force: true });
  await removeFolder(join(paths.addedNodes, name));
}
