import { readFile, readdir, readlink } from 'node:fs/promises';
import type { ProcessIdentity } from '../process/identity.ts';
import { identify } from '../process/identity.ts';

/** What identifies a program. */
export interface ProcessTraits {
  argv: readonly string[];
  cwd: string;
  /** `NAME=VALUE`, as the program was started. */
  env: readonly string[];
}

/** Returns every process that matches, except this one. */
export async function findProcesses(matches: (process: ProcessTraits) => boolean): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const identity = await identify(pid);
    const argv = await readWords(`/proc/${pid}/cmdline`);
    const env = await readWords(`/proc/${pid}/environ`);
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (identity !== undefined && matches({ argv, cwd, env })) found.push(identity);
  }
  return found;
}

async function readWords(file: string): Promise<string[]> {
  return (await readFile(file, 'utf8').catch(() => '')).split('\0');
}
