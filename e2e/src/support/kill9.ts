import { readFile, readdir } from 'node:fs/promises';
import { pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import type { Sandbox } from 'e2b';
import { inject } from 'vitest';
import { runKubectlOrFail } from './kubectl.ts';
import { eventually } from './team.ts';

interface Process {
  readonly pid: number;
  readonly command: string;
}

async function listPods(client: KubeClient, component: string): Promise<readonly Pod[]> {
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
 * Replaces the pods of a component whose containers have restarted: the kubelet delays their next start by its back-off, which
 * a test would otherwise measure.
 */
export async function replaceRestartedPods(client: KubeClient, component: string): Promise<void> {
  const worn = (await listPods(client, component)).filter(hasRestarted);
  if (worn.length === 0) return;
  const namespace = inject('releaseNamespace');
  const keys = worn.map(({ metadata: { name = '' } }) => ({ namespace, name }));
  // A gateway would drain for up to 45 s.
  await Promise.all(keys.map((key) => client.delete(pods, key, { gracePeriodSeconds: 5 })));
  await eventually(`${component} runs in other pods`, async () => {
    const now = await listPods(client, component);
    return now.length > 0 && now.every((pod) => isServing(pod) && !hasRestarted(pod)) ? true : undefined;
  });
}

/**
 * Kills the processes of a component with SIGKILL, or those alone whose command line matches: they do not drain or release their
 * lease.
 */
export async function killProcessesOf(client: KubeClient, component: string, command = /./u): Promise<void> {
  const all = (await Promise.all((await listPods(client, component)).map(listProcesses))).flat();
  const found = all.filter((each) => command.test(each.command));
  if (found.length === 0) throw new Error(`no process of ${component} to kill`);
  for (const { pid } of found) kill(pid);
}

/** Stops the processes of a component whose command line matches, as a machine does that hangs. Disposing lets them go on. */
export async function holdProcessesOf(client: KubeClient, component: string, command: RegExp): Promise<Disposable> {
  const all = (await Promise.all((await listPods(client, component)).map(listProcesses))).flat();
  const found = all.filter((each) => command.test(each.command));
  if (found.length === 0) throw new Error(`no process of ${component} to hold`);
  for (const { pid } of found) process.kill(pid, 'SIGSTOP');
  return {
    [Symbol.dispose]: () => {
      for (const { pid } of found) process.kill(pid, 'SIGCONT');
    },
  };
}

/** The same as killProcessesOf for one pod of a component. */
export async function killProcessesOfPod(client: KubeClient, component: string, name: string): Promise<void> {
  const pod = (await listPods(client, component)).find(({ metadata }) => metadata.name === name);
  const found = pod === undefined ? [] : await listProcesses(pod);
  if (found.length === 0) throw new Error(`no process of the pod ${name} to kill`);
  for (const { pid } of found) kill(pid);
}

/** Waits until so many pods of a component serve. */
export async function waitUntilServing(client: KubeClient, component: string, count: number): Promise<void> {
  await eventually(
    `${count} pods of ${component} serve`,
    async () => ((await listPods(client, component)).filter(isServing).length >= count ? true : undefined),
    400_000,
  );
}

/**
 * Waits until the status of the component's pods shows the restart and that they serve again. The kubelet reports a crash late:
 * the new process may answer before the Service loses the endpoint for a while.
 */
export async function waitUntilRecovered(client: KubeClient, component: string): Promise<void> {
  await eventually(`${component} serves again`, async () => {
    const now = await listPods(client, component);
    return now.length > 0 && now.every((pod) => hasRestarted(pod) && isServing(pod)) ? true : undefined;
  });
}

/**
 * Kills the shims of a Pod in gVisor with SIGKILL, and returns how many there were: none before the Pod starts and after its
 * end. The shim runs in the bundle of its container, whose configuration names the Pod.
 */
export async function killShimsOf({ metadata: { uid = 'none' } }: Pod): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const shims = await Promise.all(
    pids.map(async (pid) => {
      const command = await read(pid, 'cmdline');
      if (!command.includes('containerd-shim-runsc-v1')) return [];
      const config = await read(pid, 'cwd/config.json');
      return config.includes(uid) ? [Number(pid)] : [];
    }),
  );
  const found = shims.flat();
  for (const pid of found) kill(pid);
  return found.length;
}

/** Prints the pid of the process whose command line is exactly that of the daemon. */
const FIND_DAEMON = `
for process in /proc/[0-9]*; do
  if [ "$(tr '\\0' ' ' < $process/cmdline)" = 'sandlot-runtime serve ' ]; then echo "\${process#/proc/}"; fi
done 2> /dev/null`;
const KILL_DAEMON = `pid=$(${FIND_DAEMON}) && kill -9 $pid && echo $pid`;

/** Kills the daemon in a sandbox, but not its supervisor. From inside: the node does not see the processes of gVisor. */
export async function killDaemonIn({ metadata: { namespace = '', name = '' } }: Pod): Promise<void> {
  const killed = await runKubectlOrFail(['-n', namespace, 'exec', name, '--', 'sh', '-c', KILL_DAEMON]);
  if (killed === '') throw new Error(`no daemon in ${name} to kill`);
}

/**
 * Has a process of the sandbox kill the daemon `delayMs` from now, and then make the file `mark`. It is one of the client's: gVisor
 * restores no process of `kubectl exec`.
 */
export async function killDaemonLater(
  sandbox: Sandbox,
  { delayMs, mark }: { readonly delayMs: number; readonly mark: string },
): Promise<void> {
  const { stdout: pid } = await sandbox.commands.run(FIND_DAEMON);
  const script = `sleep ${delayMs / 1_000}; kill -9 ${pid.trim()}; : > ${mark}`;
  const running = await sandbox.commands.run(script, { background: true, timeoutMs: 0, user: 'root' });
  await running.disconnect();
}

/** The processes of a pod's containers, except the pause process. This machine is the node. */
async function listProcesses({ metadata: { uid = 'none' } }: Pod): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [groups, line] = await Promise.all([read(pid, 'cgroup'), read(pid, 'cmdline')]);
      const command = line.replaceAll('\0', ' ').trim();
      // Some cgroup drivers write the dashes of the UID as underscores.
      const isTheirs = groups.replaceAll('_', '-').includes(uid) && command !== '/pause';
      return isTheirs ? [{ pid: Number(pid), command }] : [];
    }),
  );
  return found.flat();
}

/** Reads a file of a process; empty when the process is gone. */
function read(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
}

/** Kills a process. It may be gone already: the end of one process may end others in its namespace. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
