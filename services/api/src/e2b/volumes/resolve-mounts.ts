import type { MountedVolume } from '@sandlot/api-types';
import { badRequest } from '../../errors/api-error.ts';
import { listMountProblems, tidyPath } from '../request/volume-mounts.ts';
import type { VolumeMountRequest } from '../request/volume-mounts.ts';
import type { FileServer } from './content/file-server.ts';
import { openRegistry } from './registry.ts';
import type { RegistryOptions } from './registry.ts';

export interface MountDeps {
  readonly volumeRegistry: RegistryOptions | undefined;
  readonly fileServer: Pick<FileServer, 'prepare'>;
}

interface Wanted {
  readonly namespace: string;
  readonly volumeMounts: readonly VolumeMountRequest[];
  readonly signal: AbortSignal;
}

/**
 * The mounts of a claim for volumes that a create names. The file server makes their directories first: the kubelet would make one that
 * only root may use. Throws an ApiError: 400 with everything that is wrong, 503 without a file server.
 */
export async function resolveMounts(
  { volumeRegistry, fileServer }: MountDeps,
  { namespace, volumeMounts, signal }: Wanted,
): Promise<readonly MountedVolume[]> {
  const volumes = await openRegistry(volumeRegistry, namespace).list();
  const ids = new Map(volumes.map(({ id, name }) => [name, id]));
  const problems = listMountProblems(volumeMounts, new Set(ids.keys()));
  if (problems.length > 0)
    throw badRequest(`invalid mounts:\n${problems.map((problem) => `\t- ${problem}`).join('\n')}`);
  const mounts = volumeMounts.map(({ name, path }) => ({ id: ids.get(name) ?? '', name, path: tidyPath(path) }));
  for (const id of new Set(mounts.map((mount) => mount.id))) await fileServer.prepare({ namespace, id }, signal);
  return mounts;
}
