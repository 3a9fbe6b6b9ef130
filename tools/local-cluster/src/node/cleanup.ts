import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRecords, stopProcess } from '../cluster/component.ts';
import type { ClusterPaths } from '../cluster/paths.ts';
import { machinePaths } from '../cluster/paths.ts';
import { LocalClusterError } from '../errors.ts';
import { exec } from '../process/exec.ts';
import { waitFor } from '../process/wait.ts';
import { killPodProcesses, podGroup, removePodCgroups } from './cgroups.ts';
import { fixedFolders, readOriginal } from './machine.ts';
import { listMountsUnder, unmountAll } from './mounts.ts';
import { removeFirewall } from './firewall.ts';
import { bridgeName } from './network.ts';
import type { ProcessTraits } from './processes.ts';
import { findProcesses } from './processes.ts';

const killRounds = 10;

// gVisor names its processes after their role, not after their executable.
const programs = [
  'containerd',
  'coredns',
  'volumes',
  'network-policy',
  'registry',
  'kwok',
  'runsc',
  'runsc-sandbox',
  'runsc-gofer',
  // Holds the mount namespace of an added node.
  'pause',
];

/**
 * Removes everything that a node puts on the machine outside the checkout: processes, mounts, links, firewall rules,
 * cgroups, kernel parameters and folders. Works from any partial state, also if there is nothing to remove.
 */
export async function removeMachineState(paths: ClusterPaths): Promise<void> {
  await stopComponents(paths);
  await killPodProcesses(podGroup);
  await killLeftovers(paths);
  await removeShimSockets();
  await unmountAll([machinePaths.run, machinePaths.lib, paths.state]);
  await removeLinks();
  await removeFirewall();
  await removePodCgroups(podGroup);
  await restoreSysctls();
  await removeFolders();
}

/** Stops the kubelets first, because they would restart pods, and containerd last. */
async function stopComponents(paths: ClusterPaths): Promise<void> {
  const order = (name: string) => (name.startsWith('kubelet') ? 0 : name.startsWith('containerd') ? 2 : 1);
  const records = await readRecords(paths);
  for (const record of records.sort((a, b) => order(a.name) - order(b.name))) await stopProcess(record, 'SIGKILL');
}

/**
 * Kills shims, and components without a record. They have our paths on their command line; etcd has its working folder.
 * Repeats until none is left, because gVisor's shims start programs that clean up after the killed pods.
 */
async function killLeftovers(paths: ClusterPaths): Promise<void> {
  for (let round = 0; round < killRounds; round += 1) {
    const found = await findProcesses((process) => isLeftover(process, paths));
    if (found.length === 0) return;
    for (const identity of found) await stopProcess(identity, 'SIGKILL');
  }
}

/** Whether a process belongs to the node or to a gVisor pod. */
export function isLeftover({ argv, cwd }: Omit<ProcessTraits, 'env'>, paths: ClusterPaths): boolean {
  const ours = [
    machinePaths.containerdSocket,
    `${machinePaths.run}/containerd.toml`,
    `${machinePaths.gvisorState}/`,
    paths.pki,
    `${paths.state}/`,
  ];
  return isOurProgram(argv) && [...argv, `${cwd}/`].some((place) => ours.some((text) => place.includes(text)));
}

function isOurProgram([program = '', component = '']: readonly string[]): boolean {
  const name = program.split('/').at(-1) ?? '';
  if (programs.includes(name) || name.startsWith('containerd-shim')) return true;
  return name === 'kube' && component !== 'kubectl';
}

/** Shims put their sockets into a fixed folder shared with the system's containerd. Each bundle names its socket. */
async function removeShimSockets(): Promise<void> {
  const bundles = join(machinePaths.containerdState, 'io.containerd.runtime.v2.task/k8s.io');
  for (const name of await readdir(bundles).catch(() => [])) {
    const address = await readFile(join(bundles, name, 'address'), 'utf8').catch(() => '');
    const socket = address.trim().replace(/^unix:\/\//, '');
    if (socket.startsWith('/run/containerd/s/')) await rm(socket, { force: true });
  }
}

async function removeLinks(): Promise<void> {
  const { stdout } = await exec(['ip', '-oneline', 'link', 'show', 'master', bridgeName]);
  for (const line of stdout.split('\n')) {
    const link = /^\d+: ([^@:]+)/.exec(line)?.[1];
    if (link !== undefined) await exec(['ip', 'link', 'delete', link]);
  }
  await exec(['ip', 'link', 'delete', bridgeName]);
}

async function restoreSysctls(): Promise<void> {
  const original = await readOriginal();
  for (const [name, value] of Object.entries(original?.sysctls ?? {})) {
    await writeFile(`/proc/sys/${name}`, value).catch(() => undefined);
  }
}

async function removeFolders(): Promise<void> {
  const original = await readOriginal();
  for (const file of await readdir('/var/lib/cni/results').catch(() => [])) {
    if (file.startsWith('sandlot-')) await rm(join('/var/lib/cni/results', file), { force: true });
  }
  for (const folder of fixedFolders) {
    if (original !== undefined && !original.folders.includes(folder)) await removeFolder(folder);
  }
  await removeFolder(machinePaths.lib);
  await removeFolder(machinePaths.run);
}

/** Waits until nothing is mounted in a folder, then removes it. Deleting through a mount would delete other data. */
export async function removeFolder(folder: string): Promise<void> {
  await waitFor(async () => (await listMountsUnder([folder])).length === 0, {
    what: `mounts under ${folder} to go`,
    timeoutMs: 10_000,
  });
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  } catch (error) {
    throw new LocalClusterError('COMMAND_FAILED', `cannot remove ${folder}`, { cause: error });
  }
}
