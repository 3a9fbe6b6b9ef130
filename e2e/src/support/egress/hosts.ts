import { Resolver } from 'node:dns/promises';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { dnsServiceIp, getClusterPaths, withLock } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';

const { hosts } = getClusterPaths(checkoutRoot);
/** Several test files have names at a time, each in a process of its own. */
const LOCK = { timeoutMs: 60_000 };
const ANSWERED_MS = 30_000;
const POLL_MS = 100;

/** Changes the lines of the names that the cluster's DNS answers. */
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

/**
 * Adds lines in the form of /etc/hosts, `address name`, and waits until the cluster's DNS answers them. Disposing takes the
 * names away.
 */
export async function addNames(lines: readonly string[]): Promise<AsyncDisposable> {
  await changeLines((present) => [...present, ...lines]);
  for (const line of lines) await waitUntilAnswered(line);
  return { [Symbol.asyncDispose]: async () => changeLines((present) => present.filter((line) => !has(lines, line))) };
}

/** Leads a name to another address, and waits until the cluster's DNS answers with it. */
export async function moveName(name: string, address: string): Promise<void> {
  const moved = `${address} ${name}`;
  await changeLines((present) => present.map((line) => (getName(line) === name ? moved : line)));
  await waitUntilAnswered(moved);
}

/** CoreDNS reads its file once a second. Benchmarks wait too, outside of vitest. */
async function waitUntilAnswered(line: string): Promise<void> {
  const [address = '', name = ''] = line.split(' ');
  const deadline = performance.now() + ANSWERED_MS;
  for (;;) {
    const answer = await ask(name);
    if (answer.includes(address)) return;
    if (performance.now() > deadline) throw new Error(`${name} leads to ${answer.join(', ')}, not to ${address}`);
    await sleep(POLL_MS);
  }
}

/** Returns the addresses of a name, or the code of the refusal. */
async function ask(name: string): Promise<readonly string[]> {
  // A resolver keeps answers, also those that a name is unknown.
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([dnsServiceIp]);
  return resolver
    .resolve4(name)
    .catch((error: unknown) => [error instanceof Error && 'code' in error ? String(error.code) : String(error)]);
}

const getName = (line: string): string | undefined => line.split(' ')[1];
const has = (lines: readonly string[], line: string): boolean => lines.some((each) => getName(each) === getName(line));
