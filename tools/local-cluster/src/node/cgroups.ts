import { readFile, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const cgroupRoot = '/sys/fs/cgroup';
const podGroup = 'kubepods';
const killRounds = 50;
const roundMs = 100;

/** Kills every process of every pod until none is left, in all cgroup hierarchies (version 1 has one per controller). */
export async function killPodProcesses(): Promise<void> {
  for (let round = 0; round < killRounds; round += 1) {
    const pids = await podProcesses();
    if (pids.size === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Ended meanwhile.
      }
    }
    await delay(roundMs);
  }
}

/** Removes the pods' cgroups, innermost first. */
export async function removePodCgroups(): Promise<void> {
  for (const group of await podGroups()) await rmdir(group).catch(() => undefined);
}

async function podProcesses(): Promise<Set<number>> {
  const pids = new Set<number>();
  for (const group of await podGroups()) {
    const text = await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const line of text.split('\n')) if (line !== '') pids.add(Number(line));
  }
  return pids;
}

/** Every cgroup at or under the kubelet's, children before parents. */
async function podGroups(): Promise<string[]> {
  const hierarchies = [cgroupRoot, ...(await subfolders(cgroupRoot))];
  const roots = hierarchies.map((hierarchy) => join(hierarchy, podGroup));
  return (await Promise.all(roots.map((root) => descend(root)))).flat();
}

async function descend(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
  return [...(await Promise.all(folders.map((child) => descend(child)))).flat(), folder];
}

async function subfolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
}
