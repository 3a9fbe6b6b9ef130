import { rm } from 'node:fs/promises';
import { removeFolder, removeMachineState } from '../node/cleanup.ts';
import type { ClusterOptions } from '../node/node.ts';
import { readOwnership } from '../node/owner.ts';
import { withLock } from '../process/lock.ts';
import { silentProgress, withStep } from '../progress.ts';
import { readRecords, stopProcess } from './component.ts';
import type { ClusterPaths } from './paths.ts';
import { getClusterPaths, lockPath } from './paths.ts';

const lockTimeoutMs = 10 * 60_000;

/**
 * Removes the checkout's cluster, of either kind and in any state. Does nothing without a cluster. Keeps compiled binaries
 * and leaves the node of another checkout alone.
 */
export async function destroyCluster(options: ClusterOptions): Promise<void> {
  const { root, progress = silentProgress } = options;
  const paths = getClusterPaths(root);
  const lock = lockPath(paths);
  await withLock(lock, { timeoutMs: lockTimeoutMs }, async () =>
    withStep(progress, 'Removing the cluster', async () => {
      if (process.getuid?.() === 0 && !(await isOwnedByOther(root))) await removeMachineState(paths);
      await removeProcessesAndState(paths);
      await rm(lock, { force: true });
    }),
  );
}

async function isOwnedByOther(root: string): Promise<boolean> {
  const { kind } = await readOwnership(root);
  return kind === 'live' || kind === 'stale';
}

async function removeProcessesAndState(paths: ClusterPaths): Promise<void> {
  for (const record of await readRecords(paths)) await stopProcess(record, 'SIGKILL');
  await removeFolder(paths.state);
}
