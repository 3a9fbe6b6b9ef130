import { formatDiskName } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { persistentVolumeClaims } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { DiskLook } from '../plan/scene.ts';

/** Reads the copies of the disks, and what is still to be copied. The controller watches no PersistentVolumeClaims. */
export function lookAtDisks(
  client: KubeClient,
  { metadata: { namespace }, spec, status }: SandboxSnapshot,
  signal: AbortSignal,
): Promise<DiskLook[]> {
  const find = (name: string) => client.find(persistentVolumeClaims, { namespace, name }, { signal });
  return Promise.all(
    (status?.disks ?? []).map(async ({ name, claimName }) => {
      const copy = await find(claimName);
      const isWanted = copy === undefined && status?.phase === 'Saving';
      return {
        name,
        claimName,
        copy,
        source: isWanted ? await find(formatDiskName(name, spec.sandboxName)) : undefined,
      };
    }),
  );
}
