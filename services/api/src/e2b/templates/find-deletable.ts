import type { SandboxSnapshot } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { ApiError, NO_RETRY } from '../../errors/api-error.ts';
import { noTemplate } from '../../errors/build-errors.ts';
import { findOwnReference, listNamed } from '../snapshots/find-snapshot.ts';
import { findSnapshotName } from '../snapshots/snapshot-name.ts';
import { findOwnTemplate } from './find-source.ts';
import type { SourceDeps } from './find-source.ts';
import type { Source } from './source.ts';

/**
 * The snapshots that a deletion of this reference means, at least one. A name stands for all its tags. Throws an ApiError: 404
 * for an unknown reference, 403 for a template or pool of the installation.
 */
export async function findDeletable(deps: SourceDeps, key: ApiKey, text: string): Promise<SandboxSnapshot[]> {
  const untagged = text.replace(/:[^/:]*$/, '');
  const source = await findOwnTemplate(deps, key, untagged);
  const found =
    source === undefined
      ? await listOfName(deps, key, findOwnReference(key, untagged)?.name)
      : await listWithSnapshot(deps, key, getSnapshot(source, text));
  if (found.length === 0) throw noTemplate(text);
  return found;
}

function getSnapshot(source: Source, text: string): SandboxSnapshot {
  if (source.kind === 'template' && source.snapshot !== undefined) return source.snapshot;
  const message = `template '${text}' belongs to the installation and cannot be deleted over this API`;
  throw new ApiError({ status: 403, message, headers: NO_RETRY });
}

/** A snapshot that was found by its id, and those that share its name. */
async function listWithSnapshot(deps: SourceDeps, key: ApiKey, snapshot: SandboxSnapshot): Promise<SandboxSnapshot[]> {
  const named = await listOfName(deps, key, findSnapshotName(snapshot)?.name);
  return [snapshot, ...named.filter((other) => !isSame(other, snapshot))];
}

async function listOfName(deps: SourceDeps, key: ApiKey, name: string | undefined): Promise<SandboxSnapshot[]> {
  return name === undefined ? [] : listNamed(deps.snapshots, key.namespace, name);
}

function isSame(a: SandboxSnapshot, b: SandboxSnapshot): boolean {
  return a.metadata.uid === b.metadata.uid;
}
