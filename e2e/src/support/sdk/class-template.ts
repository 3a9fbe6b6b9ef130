import { sandboxTemplates } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { TENANT } from './objects.ts';

/** Gives the first tenant a template like `base`, without a pool, whose sandboxes are saved in this class. Disposing deletes it. */
export async function offerTemplateOfClass(client: KubeClient, snapshotClassName: string): Promise<AsyncDisposable> {
  const { spec } = await client.get(sandboxTemplates, { namespace: TENANT, name: 'base' });
  const key = { namespace: TENANT, name: snapshotClassName };
  const hibernate = { onFailure: 'KeepRunning', snapshotClassName } as const;
  await client.create(sandboxTemplates, {
    metadata: key,
    spec: { ...spec, suspensionStrategy: { type: 'Hibernate', hibernate } },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await client.delete(sandboxTemplates, key);
    },
  };
}
