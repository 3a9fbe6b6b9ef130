import { mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const cgroupRoot = '/sys/fs/cgroup';
const killRounds = 50;
const roundMs = 100;

/** The cgroup, in every hierarchy, under which all pods are, also those of added nodes. Nothing else uses it. */
export const podGroup = 'sandlot';

/** Creates the cgroup of a node's pods, which its kubelet expects to exist. Does nothing if it exists. */
export async function ensurePodGroup(group: string): Promise<void> {
  const controllers = await readFile(join(cgroupRoot, 'cgroup.controllers'), 'utf8').catch(() => undefined);
  if (controllers === undefined) {
    for (const hierarchy of await listSubfolders(cgroupRoot)) await mkdir(join(hierarchy, group), { recursive: true });
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
