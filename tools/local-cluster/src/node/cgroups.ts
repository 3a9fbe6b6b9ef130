import { access, mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const cgroupRoot = '/sys/fs/cgroup';
const killRounds = 50;
const roundMs = 100;
/** How version 1 of cgroups counts the CPU weight of one core. */
const SHARES_PER_CORE = 1024;

/** The cgroup, in every hierarchy, under which all pods are, also those of added nodes. Nothing else uses it. */
export const podGroup = 'sandlot';

/** Creates the cgroup of a node's pods, which its kubelet expects to exist. Does nothing if it exists. */
export async function ensurePodGroup(group: string): Promise<void> {
  const controllers = await readFile(join(cgroupRoot, 'cgroup.controllers'), 'utf8').catch(() => undefined);
  if (controllers === undefined) {
    for (const hierarchy of await listSubfolders(cgroupRoot)) {
      await mkdir(join(hierarchy, group), { recursive: true });
      await weighPods(join(hierarchy, group));
    }
    return;
  }
  let parent = cgroupRoot;
  for (const name of group.split('/')) {
    for (const controller of controllers.trim().split(' ')) {
      // Some controllers cannot be delegated on this machine. The kubelet works without them.
      await writeFile(join(parent, 'cgroup.subtree_control'), `+${controller}`).catch(() => undefined);
    }
    parent = join(parent, name);
    await mkdir(parent, { recursive: true });
  }
}

/**
 * Gives the pods of a node the CPU weight that a kubelet gives them at the root of a machine. Each process outside of groups
 * has the weight of one core, so that by default all pods together would have the time of one busy process.
 */
async function weighPods(folder: string): Promise<void> {
  const file = join(folder, 'cpu.shares');
  const isCpuHierarchy = await access(file).then(
    () => true,
    () => false,
  );
  if (isCpuHierarchy) await writeFile(file, `${cpus().length * SHARES_PER_CORE}`);
}

/** Kills every process of every pod in the cgroup until none is left. Version 1 has a hierarchy per controller: covers all. */
export async function killPodProcesses(group: string): Promise<void> {
  for (let round = 0; round < killRounds; round += 1) {
    const pids = await findPodProcesses(group);
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

/** Removes the cgroup and those in it, innermost first. */
export async function removePodCgroups(group: string): Promise<void> {
  for (const folder of await listPodGroups(group)) await rmdir(folder).catch(() => undefined);
}

async function findPodProcesses(group: string): Promise<Set<number>> {
  const pids = new Set<number>();
  for (const folder of await listPodGroups(group)) {
    const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const line of text.split('\n')) if (line !== '') pids.add(Number(line));
  }
  return pids;
}

/** Lists the folders of a cgroup and of those in it, children before parents. */
async function listPodGroups(group: string): Promise<string[]> {
  const hierarchies = [cgroupRoot, ...(await listSubfolders(cgroupRoot))];
  const roots = hierarchies.map((hierarchy) => join(hierarchy, group));
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
