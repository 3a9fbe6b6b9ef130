import { sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { takeOverPatch } from '@sandlot/blueprint';
import { isConflict, isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';

export interface TakeOverInput {
  readonly pool: SandboxWarmPool;
  readonly strays: readonly Sandbox[];
  readonly signal: AbortSignal;
}

/** Makes the pool the owner of Sandboxes without a controller, each at the resourceVersion that the pass saw. */
export async function takeOverStrays(
  { client }: { readonly client: KubeClient },
  { pool, strays, signal }: TakeOverInput,
): Promise<void> {
  const patches = strays.map(async (stray) => {
    const { namespace, name = '' } = stray.metadata;
    const options = { priority: 'background', signal } as const;
    try {
      await client.mergePatch(sandboxes, { namespace, name }, takeOverPatch(stray, pool), options);
    } catch (error) {
      // Another controller changed the stray first, or it is gone: the watch shows its owner.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  });
  const failed = (await Promise.allSettled(patches)).find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
