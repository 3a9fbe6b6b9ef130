import { buildMergePatch, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { isConflict, isNotFound, isUnknownOutcome, getKey, RetryableError } from '@sandlot/kube';
import type { JsonObject, KubeClient, OwnWrites } from '@sandlot/kube';
import { spanNames, withChildSpan } from '@sandlot/telemetry';
import { getPublishedName } from './status.ts';

/** Retries of a status patch after conflicts with harmless changes of the claim, such as an annotation. */
const MAX_RETRIES = 3;

export interface PublishDeps {
  readonly client: KubeClient;
  readonly claims: OwnWrites<SandboxClaim>;
  readonly sandboxes: OwnWrites<Sandbox>;
}

export interface PublishInput {
  /** The claim as the pass began with it. */
  readonly claim: SandboxClaim;
  /** The claim as this pass has written it meanwhile. */
  readonly newest?: SandboxClaim | undefined;
  readonly sandbox: Sandbox;
  /** The status of a claim in the state given, with this Sandbox. */
  readonly buildStatus: (claim: SandboxClaim) => SandboxClaimStatus;
  readonly signal: AbortSignal;
}

/** `lost`: the claim shows another Sandbox, or is gone; this process has deleted the one it wanted to publish. */
export type Published = 'written' | 'unchanged' | 'lost';

/**
 * W2: shows the Sandbox in the claim's status. Unless the status names this Sandbox already, the patch is guarded by the
 * claim's resourceVersion: of two controllers that each adopted a Sandbox for the claim only one publishes, and the other
 * deletes its own, which no client has seen (docs/reference/sandbox-claim.md#adoption).
 */
export async function publish(deps: PublishDeps, input: PublishInput): Promise<Published> {
  const { sandbox, signal } = input;
  const acceptable = new Set(['', getPublishedName(input.claim), sandbox.metadata.name]);
  let claim = input.newest ?? input.claim;
  if (!acceptable.has(getPublishedName(claim))) return dropUnpublished(deps, input);
  for (let retry = 0; retry <= MAX_RETRIES; retry += 1) {
    const status = input.buildStatus(claim);
    if (buildMergePatch(claim.status, status) === undefined) return 'unchanged';
    const guard = getPublishedName(claim) === sandbox.metadata.name ? 'uid' : 'version';
    if (typeof (await tryPatch(deps, { claim, status, guard, signal })) === 'object') return 'written';
    const live = await readClaim(deps, claim, signal);
    if (live === undefined || !acceptable.has(getPublishedName(live))) return dropUnpublished(deps, input);
    claim = live;
  }
  throw new RetryableError(`the status of claim ${getKey(claim)} changes faster than it can be written`);
}

/** The claim as written; `refused` when it has changed or is gone; `unknown` when only a read can tell whether it was written. */
export async function tryPatch(deps: PublishDeps, write: StatusWrite): Promise<SandboxClaim | 'refused' | 'unknown'> {
  try {
    return await patchStatus(deps, write);
  } catch (error) {
    if (isUnknownOutcome(error)) return 'unknown';
    if (!isNotFound(error) && !isConflict(error)) throw error;
    return 'refused';
  }
}

/** Writes into the claim's status why it has no Sandbox. Ignores a claim that is gone or has changed: its event starts another pass. */
export async function writeStatus(deps: PublishDeps, input: Omit<StatusWrite, 'guard'>): Promise<void> {
  if (buildMergePatch(input.claim.status, input.status) === undefined) return;
  try {
    await patchStatus(deps, { ...input, guard: 'version' });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

export interface StatusWrite {
  readonly claim: SandboxClaim;
  readonly status: SandboxClaimStatus;
  /** `version`: only this version of the claim. `uid`: any version of it, but no other claim of its name. */
  readonly guard: 'version' | 'uid';
  readonly signal: AbortSignal;
}

async function patchStatus(deps: PublishDeps, { claim, status, guard, signal }: StatusWrite): Promise<SandboxClaim> {
  const { namespace, name = '', uid = '', resourceVersion = '' } = claim.metadata;
  const metadata: JsonObject = guard === 'version' ? { uid, resourceVersion } : { uid };
  const patch = { metadata, status: buildMergePatch(claim.status, status) ?? {} };
  const options = { subresource: 'status', priority: 'claim', signal } as const;
  const write = (): Promise<SandboxClaim> => deps.client.mergePatch(sandboxClaims, { namespace, name }, patch, options);
  return withChildSpan({ name: spanNames.claimStatus }, () => deps.claims.write(getKey(claim), write));
}

/** The claim as the API server has it; undefined when it is gone. */
export async function readClaim(
  { client }: PublishDeps,
  claim: SandboxClaim,
  signal: AbortSignal,
): Promise<SandboxClaim | undefined> {
  const { namespace, name = '', uid } = claim.metadata;
  const live = await client.find(sandboxClaims, { namespace, name }, { priority: 'claim', signal });
  return live?.metadata.uid === uid ? live : undefined;
}

async function dropUnpublished(deps: PublishDeps, { sandbox, signal }: PublishInput): Promise<Published> {
  deps.sandboxes.forget(getKey(sandbox));
  await deleteSandbox(deps, sandbox, { signal });
  return 'lost';
}

interface Deletion {
  /** The only version that may be deleted; any version when absent. */
  readonly resourceVersion?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Deletes the Sandbox with this UID; one that is gone or replaced counts as deleted. False when `resourceVersion` is given
 * and the Sandbox has another one.
 */
export async function deleteSandbox(
  { client }: Pick<PublishDeps, 'client'>,
  sandbox: Sandbox,
  { resourceVersion, signal }: Deletion,
): Promise<boolean> {
  const { namespace, name = '', uid } = sandbox.metadata;
  try {
    await client.delete(sandboxes, { namespace, name }, { uid, resourceVersion, signal });
  } catch (error) {
    if (isConflict(error)) return resourceVersion === undefined;
    if (!isNotFound(error)) throw error;
  }
  return true;
}
