import type { SandboxSnapshot } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { getRequestedMs, isUsable } from '../../state/snapshots.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { DEFAULT_TAG, findSnapshotName, parseReference } from './snapshot-name.ts';
import type { SnapshotReference } from './snapshot-name.ts';

/** Newest first; two of the same millisecond by id, so that pages are stable. */
export function compareSnapshots(a: SandboxSnapshot, b: SandboxSnapshot): number {
  const newer = getRequestedMs(b) - getRequestedMs(a);
  if (newer !== 0) return newer;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

/** The name that a reference may mean in the key's namespace; undefined: another team's, or no name at all. */
export function findOwnReference(key: ApiKey, text: string): SnapshotReference | undefined {
  const reference = parseReference(text);
  const isOwn = reference?.team === undefined || reference.team === key.team.toLowerCase();
  return isOwn ? reference : undefined;
}

/** All snapshots of that name, newest first. Rejects with a KubeError. */
export async function listNamed(snapshots: Snapshots, namespace: string, name: string): Promise<SandboxSnapshot[]> {
  const select = (all: Iterable<SandboxSnapshot>): SandboxSnapshot[] =>
    [...all]
      .filter((snapshot) => isUsable(snapshot) && findSnapshotName(snapshot)?.name === name)
      .sort(compareSnapshots);
  const known = select(snapshots.list(namespace));
  // One that another replica made a moment ago is not in the informer yet.
  return known.length > 0 ? known : select(await snapshots.listNow(namespace));
}

/** The newest with that tag. `named` is in the order of {@link compareSnapshots}. */
export function findTagged(
  named: readonly SandboxSnapshot[],
  { tag = DEFAULT_TAG }: Pick<SnapshotReference, 'tag'>,
): SandboxSnapshot | undefined {
  return named.find((snapshot) => findSnapshotName(snapshot)?.tag === tag);
}
