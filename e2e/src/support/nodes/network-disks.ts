import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runKubectlOrFail } from '../kubectl.ts';
import type { Team } from '../team.ts';

/**
 * Offers so many empty volumes of a storage class, which every node of this machine can mount, as a disk on a network. A volume
 * of the local cluster's own class belongs to one node. Disposing deletes them.
 */
export async function offerNetworkDisks(team: Team, storageClassName: string, count: number): Promise<AsyncDisposable> {
  const folders = await Promise.all(Array.from({ length: count }, () => makeFolder()));
  const volumes = folders.map((path, index) => ({ name: `${storageClassName}-${index}`, path }));
  await team.apply(volumes.map((volume) => buildVolume(storageClassName, volume)).join('---'));
  return {
    [Symbol.asyncDispose]: async () => {
      await runKubectlOrFail(['delete', 'persistentvolumes', ...volumes.map(({ name }) => name)]);
      for (const folder of folders) await rm(folder, { recursive: true });
    },
  };
}

/** The kubelet does not give a folder to the group of a Pod. */
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-e2e-disk-'));
  await chmod(folder, 0o777);
  return folder;
}

const buildVolume = (storageClassName: string, { name, path }: { name: string; path: string }): string => `
apiVersion: v1
kind: PersistentVolume
metadata: {name: ${name}}
spec:
  storageClassName: ${storageClassName}
  capacity: {storage: 10Mi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: ${path}, type: Directory}
`;
