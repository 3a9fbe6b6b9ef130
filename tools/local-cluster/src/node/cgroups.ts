import { mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const cgroupRoot = '/sys/fs/cgroup';
const killRounds = 50;
const roundMs = 100;

/** The cgroup, in every hierarchy, under which the kubelet puts all pods. Nothing else uses it. */
export const podGroup = 'sandlot';

/** Creates the pods' cgroup, which the kubelet expects to exist. Does nothing if it exists. */
export async function ensurePodGroup(): Promise<void> {
  const controllers = await readFile(join(cgroupRoot, 'cgroup.controllers'), 'utf8').catch(() => undefined);
  if (controllers === undefined) {
    for (const hierarchy of await listSubfolders(cgroupRoot))
      await mkdir(join(hierarchy, podGroup), { recursive: true });
    return;
  }
  for (const controller of controllers.trim().split(' ')) {
    // Some controllers cannot be delegated on this machine. The kubelet works without them.
    await writeFile(join(cgroupRoot, 'cgroup.subtree_control'), `+${controller}`).catch(() => undefined);
  }
  await mkdir(join(cgroupRoot, podGroup), { recursive: true });
}

/** Kills every process of every pod until none is left. Covers all cgroup hierarchies: version 1 has one per controller. */
export async function killPodProcesses(): Promise<void> {
  for (let round = 0; round < killRounds; round += 1) {
    const pids = await findPodProcesses();
    if (pids.size === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended meanwhile.
      }
    }
    await delay(roundMs);
  }
}

/** Removes the pods' cgroups, innermost first. */
export async function removePodCgroups(): Promise<void> {
  for (const group of await listPodGroups()) await rmdir(group).catch(() => undefined);
}

async function findPodProcesses(): Promise<Set<number>> {
  const pids = new Set<number>();
  for (const group of await listPodGroups()) {
    const text = await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const line of text.split('\n')) if (line !== '') pids.add(Number(line));
  }
  return pids;
}

/** Lists the pods' cgroups, children before parents. */
async function listPodGroups(): Promise<string[]> {
  const hierarchies = [cgroupRoot, ...(await listSubfolders(cgroupRoot))];
  const roots = hierarchies.map((hierarchy) => join(hierarchy, podGroup));
  return (await Promise.all(roots.map((root) => listDescendants(root)))).flat();
}

async function listDescendants(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
  return [...(await Promise.all(folders.map((child) => listDescendants(child)))).flat(), folder];
}

async function listSubfolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
}
