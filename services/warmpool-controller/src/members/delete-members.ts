import { sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { isConflict, isNotFound, isUnknownOutcome, getKey } from '@sandlot/kube';
import type { Expectations, KubeClient } from '@sandlot/kube';

export interface DeleteDeps {
  readonly client: KubeClient;
  readonly expectations: Expectations;
}

export interface DeleteInput {
  readonly pool: SandboxWarmPool;
  readonly members: readonly Sandbox[];
  readonly signal: AbortSignal;
}

/** Deletes members at the resourceVersion that the pass saw: a member that a claim has just adopted stays. */
export async function deleteMembers(deps: DeleteDeps, { pool, members, signal }: DeleteInput): Promise<void> {
  const owner = getKey(pool);
  const deletions = members.map(async ({ metadata }) => {
    const { namespace, name = '', uid = '', resourceVersion } = metadata;
    deps.expectations.expectDelete(owner, uid);
    try {
      const options = { uid, resourceVersion, priority: 'background', signal } as const;
      await deps.client.delete(sandboxes, { namespace, name }, options);
    } catch (error) {
      if (!isUnknownOutcome(error)) deps.expectations.observeDelete(owner, uid);
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  });
  const failed = (await Promise.allSettled(deletions)).find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
