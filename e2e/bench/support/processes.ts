import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';

/** A process and its descendants. */
export async function listTree(root: number): Promise<readonly number[]> {
  return [root, ...(await Promise.all((await listChildren(root)).map(listTree))).flat()];
}

/** The resident memory in MiB of the program that this process started. Throws when it runs no such program, or several. */
export async function readResidentMiB(program: string): Promise<number> {
  const children = await listChildren(process.pid);
  const commands = await Promise.all(children.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  const [pid, ...others] = children.filter((_, index) => isCommandOf(program, commands[index] ?? ''));
  if (pid === undefined) throw new Error(`${program} does not run`);
  if (others.length > 0) throw new Error(`${program} runs more than once`);
  return parseResidentMiB(await readFile(`/proc/${pid}/status`, 'utf8'));
}

/**
 * Whether a command line of /proc is of the program: `kube etcd` is of the program in the second place, and Redis puts a
 * blank where others have a zero byte.
 */
export function isCommandOf(program: string, command: string): boolean {
  const words = command.split(/[\0 ]/);
  return words.slice(0, 2).some((word) => basename(word) === program);
}

/** The resident memory by the text of /proc/PID/status. Throws when there is none: the process has ended. */
export function parseResidentMiB(status: string): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  if (kibibytes === undefined) throw new Error('the process has ended');
  return Number(kibibytes) / 1_024;
}

async function listChildren(pid: number): Promise<readonly number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}
