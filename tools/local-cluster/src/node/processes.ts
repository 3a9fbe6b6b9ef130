import { readFile, readdir, readlink } from 'node:fs/promises';
import type { ProcessIdentity } from '../process/identity.ts';
import { identify } from '../process/identity.ts';

/** What identifies a program: its command line and working folder. */
export interface ProcessTraits {
  argv: readonly string[];
  cwd: string;
}

/** Returns every process that matches, except this one. */
export async function findProcesses(matches: (process: ProcessTraits) => boolean): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const identity = await identify(pid);
    const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (identity !== undefined && matches({ argv, cwd })) found.push(identity);
  }
  return found;
}
