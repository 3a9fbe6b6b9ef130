import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureComponent, readRecords } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { parseMounts } from '../node/mounts.ts';
import type { NodePlace } from '../node/place.ts';
import { findInRun } from '../node/place.ts';
import { exec, execOrThrow } from '../process/exec.ts';
import { isRunning } from '../process/identity.ts';
import { killNode } from './kill.ts';
import { listOwnFolders } from './place.ts';

/** Folders of the first node that the others use: the CNI plugins, and the socket of the program that enforces policies. */
const sharedFolders = [machinePaths.cniPlugins, dirname(machinePaths.policySocket)];

/**
 * Ensures that the node has its mount namespace, which a process holds. Without that process the node begins anew, as after a
 * loss of power: what is below `/run` is lost. Returns the beginning of the command lines of programs in it.
 */
export async function ensureNamespace(context: ClusterContext, place: NodePlace): Promise<readonly string[]> {
  const name = `namespace${place.suffix}`;
  const finished = join(dirname(place.run), 'namespace-is-ready');
  const held = await findHolder(context, name);
  if (held !== undefined && (await exists(finished))) return formatEntry(held);
  await killNode(context.paths, place);
  await rm(dirname(place.run), { recursive: true, force: true });
  await mkdir(join(context.paths.addedNodes, place.name), { recursive: true });
  await ensureComponent(context.paths, {
    name,
    cwd: '/',
    // The folder tells `npm run down` whose process this is.
    argv: [
      'unshare',
      '--mount',
      '--propagation',
      'private',
      context.bin('pause'),
      join(context.paths.addedNodes, place.name),
    ],
    env: place.env,
    probe: { kind: 'alive' },
  });
  const entry = formatEntry((await findHolder(context, name)) ?? 0);
  await mountFolders(place, entry);
  await writeFile(finished, '');
  return entry;
}

async function findHolder({ paths }: ClusterContext, name: string): Promise<number | undefined> {
  const record = (await readRecords(paths)).find((one) => one.name === name);
  return record !== undefined && (await isRunning(record)) ? record.pid : undefined;
}

function formatEntry(pid: number): readonly string[] {
  return ['nsenter', `--mount=/proc/${pid}/ns/mnt`, '--'];
}

/** Mounts the node's folders over those of the first node, whose mounts the new namespace has copies of. */
async function mountFolders(place: NodePlace, entry: readonly string[]): Promise<void> {
  const folders = listOwnFolders(place);
  await unmountCopies(
    folders.map(([seen]) => seen),
    entry,
  );
  const shared = sharedFolders.map((folder) => [findInRun(place, folder), folder] as const);
  for (const [seen, folder] of [...shared, ...folders]) {
    await Promise.all([seen, folder].map((path) => mkdir(path, { recursive: true, mode: 0o700 })));
    await execOrThrow([...entry, 'mount', '--rbind', folder, seen]);
  }
}

/**
 * Unmounts what the namespace has below the folders. When the first node removes the folder of a Pod that ended, a mount there goes
 * from this namespace by itself, so that its unmount fails: only what is left counts.
 */
async function unmountCopies(folders: readonly string[], entry: readonly string[]): Promise<void> {
  let left: readonly string[] = [];
  for (let round = 0; round < 5; round += 1) {
    left = parseMounts((await execOrThrow([...entry, 'cat', '/proc/self/mountinfo'])).stdout, folders);
    if (left.length === 0) return;
    for (const point of left) await exec([...entry, 'umount', '--lazy', point]);
  }
  throw new Error(`still mounted in the namespace of the node: ${left.join(', ')}`);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
