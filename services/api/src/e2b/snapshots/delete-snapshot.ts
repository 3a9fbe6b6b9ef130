import type { SandboxClaim, SandboxSnapshot } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../../errors/api-error.ts';
import type { ApiError } from '../../errors/api-error.ts';
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
  deps: DeleteSnapshotDeps,
  { namespace }: Pick<ApiKey, 'namespace'>,
  snapshots: readonly SandboxSnapshot[],
): Use | undefined {
  const templates = new Set(snapshots.map(({ spec }) => spec.templateName ?? ''));
  const isOfThem = ({ spec }: SandboxClaim): boolean => templates.has(spec.sandboxTemplateRef?.name ?? '');
  const pools = [...deps.informers.pools.store.listByIndex(BY_NAMESPACE, namespace)];
  const hasPool = pools.some(({ spec }) => templates.has(spec.sandboxTemplateRef.name));
  return findClaimUse(deps, namespace, isOfThem) ?? (hasPool ? 'a pool' : undefined);
}

/** The sandboxes of a namespace that are of some kind; running ones count before paused ones. */
export function findClaimUse(
  { state, clock }: Pick<DeleteSnapshotDeps, 'state' | 'clock'>,
  namespace: string,
  isOfThem: (claim: SandboxClaim) => boolean,
): Use | undefined {
  let use: Use | undefined;
  for (const claim of state.claims.listByIndex(BY_NAMESPACE, namespace)) {
    const isGone = claim.metadata.deletionTimestamp !== undefined || isExpired(claim, clock.now());
    if (isGone || !isOfThem(claim)) continue;
    if (getState(state.withSandbox(claim).sandbox) === 'running') return 'running sandboxes';
    use = 'paused sandboxes';
  }
  return use;
}

/** 400: something that was made from it is still there. */
export function templateInUse(text: string, use: Use): ApiError {
  const verb = use === 'a pool' ? 'is' : 'are';
  return badRequest(`cannot delete template '${text}' because there ${verb} ${use} using it`);
}

/** Deletes the snapshots of one reference. Throws an ApiError 400 while anything uses them. */
export async function deleteSnapshots(
  deps: DeleteSnapshotDeps,
  key: ApiKey,
  { text, found }: { readonly text: string; readonly found: readonly SandboxSnapshot[] },
): Promise<void> {
  const use = findUse(deps, key, found);
  if (use !== undefined) throw templateInUse(text, use);
  await Promise.all(found.map((snapshot) => deps.snapshots.delete(snapshot)));
}
