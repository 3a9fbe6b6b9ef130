import { sandboxTemplates } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';

/** The namespace of the first tenant, whose key `readAccess` reads. */
const namespace = 'tenant-a';

/**
 * Gives the first tenant a template like `code-interpreter-v1`, with a disk at /data of this storage class, or of the default one,
 * and without a pool. Disposing deletes it.
 */
export async function offerFullTemplate(
  client: KubeClient,
  name: string,
  storageClassName?: string,
): Promise<AsyncDisposable> {
  const { spec } = await client.get(sandboxTemplates, { namespace, name: 'code-interpreter-v1' });
  const { containers, ...pod } = spec.podTemplate.spec;
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const withDisk = {
    ...pod,
    securityContext: { fsGroup: 1000 },
    containers: containers.map((container) => ({ ...container, volumeMounts })),
  };
  const resources = { requests: { storage: '10Mi' } };
  const volumeClaimTemplates = [
    { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce' as const], resources, storageClassName } },
  ];
  const podTemplate = { ...spec.podTemplate, spec: withDisk };
  await client.create(sandboxTemplates, {
    metadata: { namespace, name },
    spec: { ...spec, podTemplate, volumeClaimTemplates },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await client.delete(sandboxTemplates, { namespace, name });
    },
  };
}
