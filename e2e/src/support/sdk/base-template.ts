import { sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { TENANT as namespace } from './objects.ts';

export type PodSpec = SandboxTemplate['spec']['podTemplate']['spec'];

/**
 * Gives the first tenant a template like `base` with another Pod, without a pool and without hibernation. Disposing deletes it.
 */
export async function offerLikeBase(
  client: KubeClient,
  name: string,
  change: (pod: PodSpec) => PodSpec,
): Promise<AsyncDisposable> {
  const { spec } = await client.get(sandboxTemplates, { namespace, name: 'base' });
  const podTemplate = { ...spec.podTemplate, spec: change(spec.podTemplate.spec) };
  await client.create(sandboxTemplates, {
    metadata: { namespace, name },
    spec: { ...spec, podTemplate, suspensionStrategy: undefined },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await client.delete(sandboxTemplates, { namespace, name });
    },
  };
}
