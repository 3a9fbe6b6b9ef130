import { isForbidden, isNotFound, persistentVolumes } from '@sandlot/kube';
import type { KubeClient, PersistentVolume } from '@sandlot/kube';
import type { ReadVolumes } from './snapshot-volumes.ts';

type Reader = { readonly client: KubeClient };

/** Reads the named PersistentVolumes side by side, one GET each. They are not watched. */
export async function readVolumes(reader: Reader, names: readonly string[], signal: AbortSignal): Promise<ReadVolumes> {
  return new Map(await Promise.all(names.map(async (name) => [name, await readVolume(reader, name, signal)] as const)));
}

async function readVolume(
  { client }: Reader,
  name: string,
  signal: AbortSignal,
): Promise<PersistentVolume | 'absent' | 'forbidden'> {
  try {
    return await client.get(persistentVolumes, { name }, { signal });
  } catch (error) {
    if (isNotFound(error)) return 'absent';
    if (isForbidden(error)) return 'forbidden';
    throw error;
  }
}
