import { mergePatchOf, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { isConflict, isNotFound, isUnknownOutcome, RetryableError } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';

/** Status writes that lose against harmless changes of the claim, such as an annotation. */
const MAX_RETRIES = 3;

export interface PublishDeps {
  readonly client: KubeClient;
}

export interface PublishInput {
  readonly claim: SandboxClaim;
  readonly sandbox: Sandbox;
  /** The status of a claim in the state given, with this Sandbox. */
  readonly statusOf: (claim: SandboxClaim) => SandboxClaimStatus;
  readonly signal: AbortSignal;
}

/** `lost`: the claim shows another Sandbox, or is gone; the one it was to show has been deleted. */
export type Published = 'written' | 'unchanged' | 'lost';

/**
 * W2: shows the Sandbox in the claim's status. While no Sandbox is named there the write is a compare-and-set on the
 * claim's resourceVersion, so that of two controllers that each took one for the claim only one publishes; the other
 * deletes what nobody was given (API contract, the commit protocol).
 */
export async function publish(deps: PublishDeps, input: PublishInput): Promise<Published> {
  const { sandbox, signal } = input;
  const key = { namespace: input.claim.metadata.namespace, name: input.claim.metadata.name ?? '' };
  let { claim } = input;
  for (let retry = 0; retry <= MAX_RETRIES; retry += 1) {
    const status = mergePatchOf(claim.status, input.statusOf(claim));
    if (status === undefined) return 'unchanged';
    try {
      const options = { subresource: 'status', priority: 'claim', signal } as const;
      await deps.client.mergePatch(sandboxClaims, key, { metadata: guardOf(claim), status }, options);
      return 'written';
    } catch (error) {
      if (isNotFound(error)) return giveUp(deps, input);
      if (!isConflict(error) && !isUnknownOutcome(error)) throw error;
      const live = await readClaim(deps, claim, signal);
      if (live === undefined || namesAnother(live, sandbox)) return giveUp(deps, input);
      claim = live;
    }
  }
  throw new RetryableError(`the status of claim ${key.name} changes faster than it can be written`);
}

/** Always this very claim; and while it names no Sandbox, this very version of it. */
function guardOf({ metadata, status }: SandboxClaim): JsonObject {
  const { uid, resourceVersion } = metadata;
  return (status?.sandbox?.name ?? '') === '' ? { uid, resourceVersion } : { uid };
}

function namesAnother(claim: SandboxClaim, sandbox: Sandbox): boolean {
  const published = claim.status?.sandbox?.name ?? '';
  return published !== '' && published !== sandbox.metadata.name;
}

async function readClaim(
  { client }: PublishDeps,
  claim: SandboxClaim,
  signal: AbortSignal,
): Promise<SandboxClaim | undefined> {
  const { namespace, name = '', uid } = claim.metadata;
  try {
    const live = await client.get(sandboxClaims, { namespace, name }, { priority: 'claim', signal });
    return live.metadata.uid === uid ? live : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function giveUp(deps: PublishDeps, { sandbox }: PublishInput): Promise<Published> {
  await deleteSandbox(deps, sandbox);
  return 'lost';
}

/** Deletes exactly this incarnation; gone already, or replaced, is as good. */
export async function deleteSandbox({ client }: PublishDeps, sandbox: Sandbox): Promise<void> {
  const { namespace, name = '', uid } = sandbox.metadata;
  try {
    await client.delete(sandboxes, { namespace, name }, { uid });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
