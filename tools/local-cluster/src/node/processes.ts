import { readFile, readdir } from 'node:fs/promises';
import type { ProcessIdentity } from '../process/identity.ts';
import { identify } from '../process/identity.ts';

/** Every process whose command line matches, except this one. */
export async function findProcesses(matches: (argv: readonly string[]) => boolean): Promise<ProcessIdentity[]> {
  const found: ProcessIdentity[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const identity = await identify(pid);
    const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (identity !== undefined && matches(argv)) found.push(identity);
  }
  return found;
}
