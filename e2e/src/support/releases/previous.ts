import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkoutRoot, getCacheDir } from '@sandlot/up';
import { z } from 'zod';
import { findCluster } from '../nodes/second-node.ts';

/** The release before this one: 0.1.0. */
const PREVIOUS = '1c8bd0b395b8ebf401035aa996fc36202888ac01';

const PROGRAM = 'tools/up/src/images/publish-release.ts';

const valuesSchema = z.record(z.string(), z.unknown());

/** A chart, and the values with which it runs its own processes on the cluster under test. */
export interface Release {
  readonly chart: string;
  /** JSON. */
  readonly values: string;
}

/** Unpacks the release of before, builds its processes with its own sources and dependencies, and pushes them to the cluster's registry. */
export async function preparePrevious(): Promise<Release> {
  const root = await unpack(PREVIOUS);
  // An earlier commit may not have the program, or an earlier one.
  await mkdir(dirname(join(root, PROGRAM)), { recursive: true });
  await copyFile(join(checkoutRoot, PROGRAM), join(root, PROGRAM));
  const { registry, server } = await findCluster();
  const args = ['tools/bootstrap.mjs', PROGRAM, registry?.host ?? '', server];
  const printed = await run('node', args, root);
  const values = valuesSchema.parse(JSON.parse(printed.trim().split('\n').at(-1) ?? ''));
  return { chart: join(root, 'charts/sandlot'), values: JSON.stringify(values) };
}

/** The folder with the files of a commit, outside of the checkout. It stays, because its packages take a minute to install. */
async function unpack(commit: string): Promise<string> {
  const folder = getCacheDir('releases', commit);
  const isThere = await stat(join(folder, 'package-lock.json')).catch(() => undefined);
  if (isThere !== undefined) return folder;
  await requireCommit(commit);
  await mkdir(dirname(folder), { recursive: true });
  const partial = await mkdtemp(`${folder}.`);
  await run('sh', ['-c', `git archive "$0" | tar -x -C "$1"`, commit, partial], checkoutRoot);
  await readFile(join(partial, 'package-lock.json'));
  await rename(partial, folder);
  return folder;
}

async function requireCommit(commit: string): Promise<void> {
  await run('git', ['cat-file', '-e', `${commit}^{commit}`], checkoutRoot).catch((cause: unknown) => {
    const advice = 'This clone is shallow or has another history: run git fetch --unshallow, or git fetch origin';
    throw new Error(`the commit of the previous release is not here. ${advice} ${commit}`, { cause });
  });
}

/** Runs a program whose progress the developer sees, and returns what it prints. */
async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [printed, code] = await Promise.all([text(child.stdout), ended]);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code} in ${cwd}`);
  return printed;
}
