import type { SandboxSnapshot } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../../errors/api-error.ts';
import type { ClusterState } from '../../state/cluster-state.ts';
import { getState, isExpired } from '../../state/sandbox-state.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { BY_NAMESPACE } from '../../wiring/informers.ts';
import type { Informers } from '../../wiring/informers.ts';

export interface DeleteSnapshotDeps {
  readonly snapshots: Snapshots;
  readonly state: Pick<ClusterState, 'claims' | 'withSandbox'>;
  readonly informers: Pick<Informers, 'pools'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** What keeps a snapshot from being deleted. */
type Use = 'running sandboxes' | 'paused sandboxes' | 'a pool';

/** What was made from these snapshots and is still there; running sandboxes count before paused ones. */
export function findUse(
  { state, informers, clock }: DeleteSnapshotDeps,
  { namespace }: Pick<ApiKey, 'namespace'>,
  snapshots: readonly SandboxSnapshot[],
): Use | undefined {
  const templates = new Set(snapshots.map(({ spec }) => spec.templateName));
  let use: Use | undefined;
  for (const claim of state.claims.listByIndex(BY_NAMESPACE, namespace)) {
    const isGone = claim.metadata.deletionTimestamp !== undefined || isExpired(claim, clock.now());
    if (isGone || !templates.has(claim.spec.sandboxTemplateRef?.name)) continue;
    if (getState(state.withSandbox(claim).sandbox) === 'running') return 'running sandboxes';
    use = 'paused sandboxes';
  }
  const pools = [...informers.pools.store.listByIndex(BY_NAMESPACE, namespace)];
  return use ?? (pools.some(({ spec }) => templates.has(spec.sandboxTemplateRef.name)) ? 'a pool' : undefined);
}

/** Deletes the snapshots of one reference. Throws an ApiError 400 while anything uses them. */
export async function deleteSnapshots(
  deps: DeleteSnapshotDeps,
  key: ApiKey,
  { text, found }: { readonly text: string; readonly found: readonly SandboxSnapshot[] },
): Promise<void> {
  const use = findUse(deps, key, found);
  if (use !== undefined) {
    const verb = use === 'a pool' ? 'is' : 'are';
    throw badRequest(`cannot delete template '${text}' because there ${verb} ${use} using it`);
  }
  await Promise.all(found.map((snapshot) => deps.snapshots.delete(snapshot)));
}
