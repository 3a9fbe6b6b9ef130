import { readFile, writeFile } from 'node:fs/promises';
import { getClusterPaths, withLock } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';

const { hosts } = getClusterPaths(checkoutRoot);
/** Several test files have names at a time, each in a process of its own. */
const LOCK = { timeoutMs: 60_000 };

/** Changes the lines of the names that the cluster's DNS answers, which reads the file again within a second. */
async function changeLines(change: (lines: readonly string[]) => readonly string[]): Promise<void> {
  await withLock(`${hosts}.lock`, LOCK, async () => {
    const present = (await readFile(hosts, 'utf8')).split('\n').filter((line) => line !== '');
    await writeFile(
      hosts,
      change(present)
        .map((line) => `${line}\n`)
        .join(''),
    );
  });
}

/** Adds lines in the form of /etc/hosts, `address name`. Disposing takes the names away. */
export async function addNames(lines: readonly string[]): Promise<AsyncDisposable> {
  await changeLines((present) => [...present, ...lines]);
  return { [Symbol.asyncDispose]: async () => changeLines((present) => present.filter((line) => !has(lines, line))) };
}

/** Leads a name to another address. */
export async function moveName(name: string, address: string): Promise<void> {
  await changeLines((present) => present.map((line) => (getName(line) === name ? `${address} ${name}` : line)));
}

const getName = (line: string): string | undefined => line.split(' ')[1];
const has = (lines: readonly string[], line: string): boolean => lines.some((each) => getName(each) === getName(line));
