import type { Clock } from '@sandlot/std';
import type { ApiKey } from '@sandlot/tenancy';
import { noSandbox } from '../../errors/api-error.ts';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';
import { isExpired, getState, wasReady } from '../../state/sandbox-state.ts';

export interface FindDeps {
  readonly state: Pick<ClusterState, 'findSandbox'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * The sandbox of that id in the key's namespace, if it was Ready once and has not expired. Throws an ApiError 404, which counts
 * only for what the API server has: the informer may lag behind a write that another replica has answered for.
 */
export async function findOwnSandbox(
  deps: FindDeps,
  { namespace }: Pick<ApiKey, 'namespace'>,
  id: string,
): Promise<ClaimedSandbox> {
  return findWanted(deps, { namespace, id }, (claimed) => isFound(deps, claimed));
}

/** Like {@link findOwnSandbox}, but a paused sandbox is not found (docs/reference/e2b-api.md#lifetime). */
export async function findRunningSandbox(deps: FindDeps, { namespace }: ApiKey, id: string): Promise<ClaimedSandbox> {
  const isRunning = (claimed: ClaimedSandbox): boolean => getState(claimed.sandbox) !== 'paused';
  return findWanted(deps, { namespace, id }, (claimed) => isFound(deps, claimed) && isRunning(claimed));
}

async function findWanted(
  { state }: FindDeps,
  { namespace, id }: { readonly namespace: string; readonly id: string },
  isWanted: (claimed: ClaimedSandbox) => boolean,
): Promise<ClaimedSandbox> {
  const claimed = await state.findSandbox(namespace, id, isWanted);
  if (claimed === undefined || !isWanted(claimed)) throw noSandbox(id);
  return claimed;
}

function isFound({ clock }: FindDeps, { claim }: ClaimedSandbox): boolean {
  return wasReady(claim) && !isExpired(claim, clock.now());
}
