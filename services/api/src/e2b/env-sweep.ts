import { labels } from '@sandlot/api-types';
import { isConflict, isNotFound, secrets } from '@sandlot/kube';
import type { Secret } from '@sandlot/kube';
import type { Deps } from '../deps.ts';
import { envSecretName } from './claim.ts';
import { ownEnvs } from './env-secret.ts';

/** A create is over long before that: its claim is there then, or never will be. */
const ORPHAN_AFTER_MS = 15 * 60_000;
/** Values come along with the names: few at a time. */
const PAGE = 100;

export type EnvSweepDeps = Pick<Deps, 'client' | 'log' | 'clock' | 'world'> & {
  readonly namespace: string | undefined;
};

/**
 * Takes away the Secrets of creates that never got as far as a claim, because their replica died in between, and gives those
 * whose claim is there to it. Only Secrets that this API made, that have no owner, and only in the version that was looked
 * at. Rejects with a KubeError.
 */
export async function sweepEnvs(deps: EnvSweepDeps): Promise<void> {
  const labelSelector = `${labels.claimEnv}=true,${labels.sandboxId}`;
  let next: string | undefined;
  do {
    const options = { namespace: deps.namespace, labelSelector, limit: PAGE, continue: next } as const;
    const page = await deps.client.list(secrets, { ...options, priority: 'background' });
    for (const secret of page.items) if (isStray(secret, deps.clock.now())) await settle(deps, secret);
    next = page.continue;
  } while (next !== undefined && next !== '');
}

/** Decides from the object alone. */
export function isStray({ metadata }: Secret, nowMs: number): boolean {
  const id = metadata.labels?.[labels.sandboxId] ?? '';
  const isOurs = id !== '' && metadata.name === envSecretName(id);
  const isOwned = (metadata.ownerReferences ?? []).length > 0;
  const age = nowMs - Date.parse(metadata.creationTimestamp ?? '');
  return isOurs && !isOwned && metadata.deletionTimestamp === undefined && age >= ORPHAN_AFTER_MS;
}

async function settle(deps: EnvSweepDeps, { metadata }: Secret): Promise<void> {
  const { namespace, name = '', uid, resourceVersion } = metadata;
  const id = metadata.labels?.[labels.sandboxId] ?? '';
  const claim = await deps.world.readClaim({ namespace, name: id });
  if (claim !== undefined) return ownEnvs(deps, claim);
  try {
    await deps.client.delete(secrets, { namespace, name }, { uid, resourceVersion, priority: 'background' });
    deps.log.info({ namespace, sandbox: id }, 'the Secret of a create that was never finished is gone');
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
