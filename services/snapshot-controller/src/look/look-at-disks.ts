import { formatDiskName } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { events, persistentVolumeClaims } from '@sandlot/kube';
import type { KubeClient, PersistentVolumeClaim } from '@sandlot/kube';
import type { DiskLook } from '../plan/scene.ts';

interface Look {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  /** The copies are late: their Events say why. */
  readonly asksWhy: boolean;
}

/** Reads the copies of the disks, and what is still to be copied. The controller watches no PersistentVolumeClaims. */
export function lookAtDisks(
  { metadata: { namespace }, spec, status }: SandboxSnapshot,
  look: Look,
): Promise<DiskLook[]> {
  const { client, signal } = look;
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
        said: await findRefusal(look, copy),
      };
    }),
  );
}

const MAX_EVENTS = 10;

/** What the provisioner says about a copy without a volume. Only Events say it. */
async function findRefusal(
  { client, signal, asksWhy }: Look,
  copy: PersistentVolumeClaim | undefined,
): Promise<string | undefined> {
  if (!asksWhy || copy === undefined || copy.status?.phase === 'Bound') return undefined;
  const { namespace, uid = '' } = copy.metadata;
  const fieldSelector = `regarding.uid=${uid},reason=ProvisioningFailed`;
  const { items } = await client.list(events, { namespace, fieldSelector, limit: MAX_EVENTS, signal });
  return items.find(({ note }) => note !== undefined && note !== '')?.note;
}
