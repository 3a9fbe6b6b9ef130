import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { readRecords } from '../cluster/component.ts';
import { getClusterPaths, machinePaths } from '../cluster/paths.ts';
import { ClusterOwnedError } from '../errors.ts';
import { isRunning } from '../process/identity.ts';

/** Which checkout owns the machine's node. */
export type Ownership =
  | { kind: 'free' }
  | { kind: 'ours' }
  /** Another checkout owns the node, and some of its processes run. */
  | { kind: 'live'; owner: string }
  /** Another checkout owns the node, but none of its processes run. */
  | { kind: 'stale'; owner: string };

/** Reads which checkout owns the machine's node. */
export async function readOwnership(root: string): Promise<Ownership> {
  const owner = await readOwner();
  if (owner === undefined) return { kind: 'free' };
  if (owner === root) return { kind: 'ours' };
  for (const record of await readRecords(getClusterPaths(owner))) {
    if (await isRunning(record)) return { kind: 'live', owner };
  }
  return { kind: 'stale', owner };
}

/** Throws ClusterOwnedError if another checkout's node runs. */
export function assertNotOwnedByOther(ownership: Ownership): void {
  if (ownership.kind === 'live') throw new ClusterOwnedError(ownership.owner);
}

/** Records this checkout as the owner of the machine's node. */
export async function takeOwnership(root: string): Promise<void> {
  await mkdir(machinePaths.run, { recursive: true, mode: 0o700 });
  await writeFile(machinePaths.owner, JSON.stringify({ root }));
}

async function readOwner(): Promise<string | undefined> {
  const text = await readFile(machinePaths.owner, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : /"root":"([^"]+)"/.exec(text)?.[1];
}
