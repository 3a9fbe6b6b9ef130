import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createCluster, readClusterStatus } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { eventually } from '../team.ts';

const run = promisify(execFile);

/** The kubelet as well: one that has ended a Pod takes no notice when the Pod is back, and leaves it Ready in the API. */
const WITH_MEMORY: readonly string[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
];
const TABLE = 'restore';

async function findPids(): Promise<number[]> {
  const status = await readClusterStatus({ root: checkoutRoot });
  return status.flatMap(({ name, pid }) => (WITH_MEMORY.includes(name) && pid !== undefined ? [pid] : []));
}

/** Ends the processes that know the state of the cluster with SIGKILL. Pods go on. */
export async function killKubernetes(): Promise<void> {
  const pids = await findPids();
  if (pids.length !== WITH_MEMORY.length) throw new Error(`${pids.length} processes of Kubernetes`);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await eventually('Kubernetes has ended', async () => ((await findPids()).length === 0 ? true : undefined));
}

/** Starts what does not run, and waits until the node is Ready. */
export async function startKubernetes(): Promise<void> {
  await createCluster({ root: checkoutRoot });
}

/** Lets nobody but this machine reach the API server at this URL, so that no Pod does. The disposal opens it again. */
export async function closeApiServer(url: string): Promise<AsyncDisposable> {
  const nft = (...args: readonly string[]) => run('nft', args);
  await nft('add', 'table', 'inet', TABLE);
  const input = ['inet', TABLE, 'input'];
  await nft('add', 'chain', ...input, '{ type filter hook input priority 0; }');
  await nft('add', 'rule', ...input, 'iifname', '!=', 'lo', 'tcp', 'dport', new URL(url).port, 'reject');
  return {
    [Symbol.asyncDispose]: async () => {
      await nft('delete', 'table', 'inet', TABLE);
    },
  };
}
