import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What a cluster adds to its machine, as lines that can be compared between two moments. */
export interface MachineState {
  readonly links: readonly string[];
  readonly mounts: readonly string[];
  readonly firewall: readonly string[];
  readonly cgroups: readonly string[];
  readonly processes: readonly string[];
  readonly settings: readonly string[];
}

/** The output lines of a command; none when it is not installed. */
async function readLines(command: string, ...args: readonly string[]): Promise<string[]> {
  const stdout = await run(command, args).then(
    (result) => result.stdout,
    () => '',
  );
  return stdout.split('\n').filter((line) => line !== '');
}

async function listFolder(path: string): Promise<string[]> {
  return readdir(path).catch(() => []);
}

async function listCgroups(): Promise<string[]> {
  const roots = ['', ...(await listFolder('/sys/fs/cgroup'))].map((name) => `/sys/fs/cgroup/${name}`);
  const all = await Promise.all(roots.map(async (root) => (await listFolder(root)).map((name) => `${root}/${name}`)));
  return all.flat().filter((path) => path.endsWith('/sandlot'));
}

/** The processes of clusters of all checkouts. Those of tests run under another supervisor. */
async function listProcesses(): Promise<string[]> {
  const pids = (await listFolder('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return commands
    .map((line) => line.replaceAll('\0', ' '))
    .filter((line) => /\/run\/sandlot\/|\/\.sandlot\//.test(line));
}

/** Reads the current state of the machine. */
export async function readMachineState(): Promise<MachineState> {
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  return {
    links: (await listFolder('/sys/class/net')).sort(),
    mounts: mounts.filter((path) => /sandlot|kubelet|\/run\/netns|containerd/.test(path)).sort(),
    firewall: (await readLines('nft', 'list', 'ruleset')).map((line) =>
      line.replaceAll(/packets \d+ bytes \d+/g, '').trim(),
    ),
    cgroups: (await listCgroups()).sort(),
    processes: (await listProcesses()).sort(),
    settings: await readLines('sysctl', 'net.ipv4.ip_forward'),
  };
}
