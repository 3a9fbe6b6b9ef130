import type { Clock } from '@sandlot/std';
import type { ApiKey } from '@sandlot/tenancy';
import { noSandbox } from '../../errors/api-error.ts';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';
import { isExpired, getState, wasReady } from '../../state/sandbox-state.ts';

export interface FindDeps {
  readonly state: Pick<ClusterState, 'findSandbox'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** The sandbox of that id in the key's namespace, if it was Ready once and has not expired. Throws an ApiError 404. */
export async function findOwnSandbox({ state, clock }: FindDeps, key: ApiKey, id: string): Promise<ClaimedSandbox> {
  const claimed = await state.findSandbox(key.namespace, id);
  if (claimed === undefined || !wasReady(claimed.claim)) throw noSandbox(id);
  if (isExpired(claimed.claim, clock.now())) throw noSandbox(id);
  return claimed;
}

/** Like {@link findOwnSandbox}, but a paused sandbox is not found (docs/reference/e2b-api.md#lifetime). */
export async function findRunningSandbox(deps: FindDeps, key: ApiKey, id: string): Promise<ClaimedSandbox> {
  const claimed = await findOwnSandbox(deps, key, id);
  if (getState(claimed.sandbox) === 'paused') throw noSandbox(id);
  return claimed;
}
