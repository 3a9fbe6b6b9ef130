// Patches of a claim or Sandbox that apply only to the version they were decided on.
import { getModeSpelling, resumePatch, sandboxClaims, sandboxes, suspendPatch } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isConflict, isNotFound, getKey } from '@sandlot/kube';
import type { JsonObject, KubeClient, ObjectKey } from '@sandlot/kube';
import { noSandbox } from '../../errors/api-error.ts';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';
import { getState } from '../../state/sandbox-state.ts';

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

type Mode = 'Running' | 'Suspended';
const STATE_OF_MODE = { Running: 'running', Suspended: 'paused' } as const;

/**
 * Suspends or resumes the Sandbox, unless it has that mode. After a conflict it reads the Sandbox and looks again. Throws an
 * ApiError 404 if the Sandbox is gone, and rejects with a KubeError.
 */
export async function setMode(deps: PatchDeps, claimed: ClaimedSandbox, mode: Mode): Promise<Sandbox> {
  const id = claimed.claim.metadata.name ?? '';
  let { sandbox } = claimed;
  for (let tries = 1; ; tries += 1) {
    if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) throw noSandbox(id);
    if (getState(sandbox) === STATE_OF_MODE[mode]) return sandbox;
    try {
      return await patchMode(deps, sandbox, mode);
    } catch (error) {
      if (isNotFound(error)) throw noSandbox(id);
      if (!isConflict(error) || tries >= MAX_TRIES) throw error;
      sandbox = await deps.state.readSandbox(getObjectKey(sandbox));
    }
  }
}

function getObjectKey({ metadata: { namespace, name = '' } }: Sandbox): ObjectKey {
  return { namespace, name };
}

async function patchMode({ client, state }: PatchDeps, sandbox: Sandbox, mode: Mode): Promise<Sandbox> {
  const spelling = getModeSpelling(sandbox.spec);
  const patch =
    mode === 'Suspended' ? suspendPatch(sandbox, { by: 'API', spelling }) : resumePatch(sandbox, { spelling });
  return state.sandboxes.write(getKey(sandbox), () => client.mergePatch(sandboxes, getObjectKey(sandbox), patch));
}

interface Preconditions {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

function addPreconditions(patch: JsonObject, preconditions: Preconditions): JsonObject {
  const metadata = (patch['metadata'] ?? {}) as JsonObject;
  return { ...patch, metadata: { ...metadata, ...preconditions } };
}
