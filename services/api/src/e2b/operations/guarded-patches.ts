// Patches of a claim or Sandbox that apply only to the version they were decided on.
import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isConflict, isNotFound, getKey } from '@sandlot/kube';
import type { JsonObject, KubeClient, ObjectKey } from '@sandlot/kube';
import { ApiError, noSandbox } from '../../errors/api-error.ts';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';

export interface PatchDeps {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly state: ClusterState;
}

const MAX_TRIES = 6;

/**
 * Patches the claim as `decide` says for its current version; undefined means no patch. After a conflict it reads the claim and
 * decides again. Throws an ApiError 404 if the claim is gone, and rejects with a KubeError.
 */
export async function patchClaim(
  deps: PatchDeps,
  claimed: ClaimedSandbox,
  decide: (current: ClaimedSandbox) => JsonObject | undefined,
): Promise<ClaimedSandbox> {
  const { client, state } = deps;
  let current = claimed;
  for (let tries = 1; ; tries += 1) {
    const patch = decide(current);
    if (patch === undefined) return current;
    const { namespace, name = '', uid, resourceVersion } = current.claim.metadata;
    const guarded = addPreconditions(patch, { uid, resourceVersion });
    try {
      const call = (): Promise<SandboxClaim> => client.mergePatch(sandboxClaims, { namespace, name }, guarded);
      return { ...current, claim: await state.claims.write(`${namespace ?? ''}/${name}`, call) };
    } catch (error) {
      if (isNotFound(error)) throw noSandbox(name);
      if (!isConflict(error) || tries >= MAX_TRIES) throw error;
      current = await readAgain(deps, current);
    }
  }
}

async function readAgain({ state }: PatchDeps, { claim }: ClaimedSandbox): Promise<ClaimedSandbox> {
  const { namespace, name = '' } = claim.metadata;
  const current = await state.readClaim({ namespace, name });
  const isSame = current?.metadata.uid === claim.metadata.uid && current?.metadata.deletionTimestamp === undefined;
  if (current === undefined || !isSame) throw noSandbox(name);
  return state.withSandbox(current);
}

/**
 * Patches the Sandbox as `decide` says for its current version; undefined means no patch. After a conflict it reads the Sandbox
 * and decides again, and also after an ApiError of `decide`: the cache may lag behind another replica, so a refusal counts only
 * for what the API server has. Throws an ApiError, 404 if the Sandbox is gone, and rejects with a KubeError.
 */
export async function patchSandbox(
  deps: PatchDeps,
  { claim, sandbox: known }: ClaimedSandbox,
  decide: (current: Sandbox) => JsonObject | undefined,
): Promise<Sandbox> {
  const id = claim.metadata.name ?? '';
  let sandbox = known;
  for (let tries = 1; ; tries += 1) {
    if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) throw noSandbox(id);
    try {
      return await writeSandbox(deps, sandbox, decide(sandbox));
    } catch (error) {
      if (isNotFound(error)) throw noSandbox(id);
      if (!mayBeStale(error, tries)) throw error;
      sandbox = await deps.state.readSandbox(getObjectKey(sandbox));
    }
  }
}

function getObjectKey({ metadata: { namespace, name = '' } }: Sandbox): ObjectKey {
  return { namespace, name };
}

/** Whether another version of the Sandbox may have another outcome. From the second try on it is that of the API server. */
function mayBeStale(error: unknown, tries: number): boolean {
  return tries === 1 ? isConflict(error) || error instanceof ApiError : isConflict(error) && tries < MAX_TRIES;
}

async function writeSandbox(
  { client, state }: PatchDeps,
  sandbox: Sandbox,
  patch: JsonObject | undefined,
): Promise<Sandbox> {
  if (patch === undefined) return sandbox;
  const { uid, resourceVersion } = sandbox.metadata;
  const guarded = addPreconditions(patch, { uid, resourceVersion });
  return state.sandboxes.write(getKey(sandbox), () => client.mergePatch(sandboxes, getObjectKey(sandbox), guarded));
}

interface Preconditions {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

function addPreconditions(patch: JsonObject, preconditions: Preconditions): JsonObject {
  const metadata = (patch['metadata'] ?? {}) as JsonObject;
  return { ...patch, metadata: { ...metadata, ...preconditions } };
}
