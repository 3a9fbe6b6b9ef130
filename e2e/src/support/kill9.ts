import { readFile, readdir } from 'node:fs/promises';
import { pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import { inject } from 'vitest';
import { eventually } from './team.ts';

interface Process {
  readonly pid: number;
  readonly command: string;
}

async function podsOf(client: KubeClient, component: string): Promise<readonly Pod[]> {
  const labelSelector = `app.kubernetes.io/component=${component}`;
  const { items } = await client.list(pods, { namespace: inject('releaseNamespace'), labelSelector });
  return items;
}

const hasRestarted = ({ status }: Pod): boolean =>
  (status?.containerStatuses ?? []).some(({ restartCount = 0 }) => restartCount > 0);

const isServing = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true;

/**
 * Replaces pods of the component that have died before: the kubelet would let them wait before the next start, longer each
 * time, and a test would measure nothing but that.
 */
export async function replaceRestartedPods(client: KubeClient, component: string): Promise<void> {
  const worn = (await podsOf(client, component)).filter(hasRestarted);
  if (worn.length === 0) return;
  const namespace = inject('releaseNamespace');
  const keys = worn.map(({ metadata: { name = '' } }) => ({ namespace, name }));
  await Promise.all(keys.map((key) => client.delete(pods, key)));
  await eventually(`${component} runs in other pods`, async () => {
    const now = await podsOf(client, component);
    return now.length > 0 && now.every((pod) => isServing(pod) && !hasRestarted(pod)) ? true : undefined;
  });
}

/** Kills all processes of the component's containers as if they had crashed: nothing is drained, no lease is released. */
export async function killProcessesOf(client: KubeClient, component: string): Promise<void> {
  const found = (await Promise.all((await podsOf(client, component)).map(processesOf))).flat();
  if (found.length === 0) throw new Error(`no process of ${component} to kill`);
  for (const { pid } of found) kill(pid);
}

/**
 * Until the component's pods are known to have died and to serve again. The kubelet tells late of a process that died: its
 * successor may have answered already when the Service loses the endpoint for a while.
 */
export async function waitUntilRecovered(client: KubeClient, component: string): Promise<void> {
  await eventually(`${component} serves again`, async () => {
    const now = await podsOf(client, component);
    return now.length > 0 && now.every((pod) => hasRestarted(pod) && isServing(pod)) ? true : undefined;
  });
}

/** Kills the daemon in a sandbox; whatever watches over it is left alone. */
export async function killDaemonIn(pod: Pod): Promise<void> {
  const daemon = (await processesOf(pod)).find(({ command }) => command === 'sandlot-runtime serve');
  if (daemon === undefined) throw new Error(`no daemon in ${pod.metadata.name ?? ''} to kill`);
  kill(daemon.pid);
}

/** Processes of a pod's containers, but for the one that only holds its network: this machine is its node. */
async function processesOf({ metadata: { uid = 'none' } }: Pod): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [groups, line] = await Promise.all([read(pid, 'cgroup'), read(pid, 'cmdline')]);
      const command = line.replaceAll('\0', ' ').trim();
      // Some drivers of cgroups write the dashes of the UID as underscores.
      const isTheirs = groups.replaceAll('_', '-').includes(uid) && command !== '/pause';
      return isTheirs ? [{ pid: Number(pid), command }] : [];
    }),
  );
  return found.flat();
}

/** Empty once the process is gone. */
function read(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
}

/** The end of one process may be the end of others in its namespace. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
