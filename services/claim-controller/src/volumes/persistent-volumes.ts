import { isForbidden, isNotFound, persistentVolumes } from '@sandlot/kube';
import type { KubeClient, PersistentVolume } from '@sandlot/kube';
import { persistentVolumeNames } from './dynamic-volumes.ts';
import type { SeenVolumes } from './dynamic-volumes.ts';
import type { Pass } from '../plan/pass.ts';
import { refusalOf } from '../refusal/refusal.ts';
import type { ClaimSnapshot } from '../plan/snapshot.ts';

interface Observing<S extends ClaimSnapshot> {
  readonly observe: () => S;
  /** Whether the claim is to be given a Sandbox. */
  readonly wants: (snapshot: S) => boolean;
}

/**
 * One moment's view of the claim, with the PersistentVolumes it names. They are asked for, one GET each, only when a
 * Sandbox is to be made of them; what is seen in memory is looked at again after that.
 */
export async function withPersistentVolumes<S extends ClaimSnapshot>(
  reader: { readonly client: KubeClient },
  pass: Pick<Pass, 'claim' | 'signal'>,
  { observe, wants }: Observing<S>,
): Promise<S> {
  const snapshot = observe();
  const names = snapshot.persistentVolumes === 'off' ? [] : persistentVolumeNames(pass.claim);
  const { origin } = snapshot;
  if (names.length === 0 || !wants(snapshot) || origin.kind !== 'found') return snapshot;
  if (refusalOf(snapshot, origin.template) !== undefined) return snapshot;
  const seen = await Promise.all(names.map(async (name) => [name, await read(reader, name, pass.signal)] as const));
  return { ...observe(), persistentVolumes: new Map(seen) satisfies SeenVolumes };
}

async function read(
  { client }: { readonly client: KubeClient },
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
