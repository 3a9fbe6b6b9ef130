import { ensureBinaries } from '../binaries/ensure.ts';
import type { ClusterOptions } from '../node/node.ts';
import { getNodeAddress } from '../node/network.ts';
import { readChoices } from './choices.ts';
import type { ClusterHandle } from './handle.ts';
import { createClusterHandle } from './handle.ts';
import { getClusterPaths } from './paths.ts';
import { readClusterStatus } from './status.ts';

/** Returns the checkout's cluster if its API server is healthy, otherwise undefined. Starts nothing. */
export async function openCluster(options: ClusterOptions): Promise<ClusterHandle | undefined> {
  const paths = getClusterPaths(options.root);
  const choices = await readChoices(paths);
  if (choices === undefined) return undefined;
  const status = await readClusterStatus(options);
  const isUp = (name: string) => status.some((component) => component.name === name && component.healthy);
  if (!isUp('kube-apiserver')) return undefined;
  const bin = await ensureBinaries(['kube'], { progress: options.progress });
  const address = choices.mode === 'node' ? getNodeAddress(choices.podNetwork) : '127.0.0.1';
  return createClusterHandle({ paths, choices, bin }, address, isUp('redis-server'));
}
