import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createCluster, readClusterStatus } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { eventually } from '../team.ts';

const run = promisify(execFile);

const CONTROL_PLANE: readonly string[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const TABLE = 'restore';

async function findPids(): Promise<number[]> {
  const status = await readClusterStatus({ root: checkoutRoot });
  return status.flatMap(({ name, pid }) => (CONTROL_PLANE.includes(name) && pid !== undefined ? [pid] : []));
}

/** Ends the processes of the control plane with SIGKILL. The node and its Pods go on. */
export async function killControlPlane(): Promise<void> {
  const pids = await findPids();
  if (pids.length !== CONTROL_PLANE.length) throw new Error(`${pids.length} processes of the control plane`);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await eventually('the control plane has ended', async () => ((await findPids()).length === 0 ? true : undefined));
}

/** Starts what does not run, and waits until the node is Ready. */
export async function startControlPlane(): Promise<void> {
  await createCluster({ root: checkoutRoot });
}

/**
 * Closes the port of the API server at this URL to all but the loopback interface, so that no Pod reaches it. The disposal opens it
 * again. A table that a killed test left behind is replaced.
 */
export async function closeApiServer(url: string): Promise<AsyncDisposable> {
  const nft = (...args: readonly string[]) => run('nft', args);
  await nft('add', 'table', 'inet', TABLE);
  await nft('flush', 'table', 'inet', TABLE);
  const input = ['inet', TABLE, 'input'];
  await nft('add', 'chain', ...input, '{ type filter hook input priority 0; }');
  await nft('add', 'rule', ...input, 'iifname', '!=', 'lo', 'tcp', 'dport', new URL(url).port, 'reject');
  return {
    [Symbol.asyncDispose]: async () => {
      await nft('delete', 'table', 'inet', TABLE);
    },
  };
}
