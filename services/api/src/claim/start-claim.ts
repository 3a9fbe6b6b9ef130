// A new claim on its way to a sandbox that clients may use.
import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isAlreadyExists, isNotFound, isUnknownOutcome } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import { buildOutcome } from '../e2b/operations/create-outcome.ts';
import type { Asked } from '../e2b/operations/create-outcome.ts';
import { firstRequestInProgress, readyTooLate } from '../errors/create-errors.ts';
import type { ClaimedSandbox, ClusterState } from '../state/cluster-state.ts';
import { createEnvSecret } from './env-secret.ts';
import type { Variables } from './env-secret.ts';

export interface StartDeps {
  readonly client: KubeClient;
  readonly state: ClusterState;
  readonly log: Logger;
  /** Where the values of environment variables are stored. */
  readonly envsNamespace: string;
}

export interface Start {
  readonly claim: SandboxClaim;
  readonly envs: Variables;
  readonly asked: Asked;
  /** Reserved for the sandbox; given back once the claim counts, or was not created. */
  readonly place: Disposable;
  /** Whether a request with the same Idempotency-Key may have created the claim. */
  readonly mayExist: boolean;
  readonly timeoutMs: number;
  /** Ends the wait when the client is gone; undefined: it goes on. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Creates the claim and waits until it is Ready. Deletes the claim again if anything fails after its creation. Throws an
 * ApiError, and rejects with a KubeError.
 */
export async function startClaim(deps: StartDeps, start: Start): Promise<ClaimedSandbox> {
  const { envs, place } = start;
  const created = await createClaim(deps, start).finally(() => place[Symbol.dispose]());
  try {
    if (envs.length > 0) await createEnvSecret(deps, created, { envs });
    return await waitUntilReady(deps, start, created);
  } catch (error) {
    await withdrawClaim(deps, created);
    throw error;
  }
}

/** Creates the claim. Throws an ApiError 409 if an earlier request with the same Idempotency-Key created it. */
async function createClaim(deps: StartDeps, { claim, mayExist }: Start): Promise<SandboxClaim> {
  const { state, client } = deps;
  const { namespace = '', name = '' } = claim.metadata;
  try {
    return await state.claims.write(`${namespace}/${name}`, () =>
      client.create(sandboxClaims, claim, { priority: 'claim' }),
    );
  } catch (error) {
    if (isAlreadyExists(error) && mayExist) throw firstRequestInProgress();
    // The claim may exist although the write failed. No client has its id, so it must not stay.
    if (isUnknownOutcome(error)) void withdrawClaim(deps, claim);
    throw error;
  }
}

/** Waits until the claim is Ready. Throws an ApiError if it fails or the create times out. */
async function waitUntilReady({ state }: StartDeps, start: Start, claim: SandboxClaim): Promise<ClaimedSandbox> {
  const { asked, timeoutMs, signal } = start;
  const found = await state.waitUntil(
    { claim, sandbox: undefined },
    (current) => {
      const outcome = buildOutcome(current?.claim ?? claim, asked);
      if (outcome.kind === 'failed') throw outcome.error;
      return outcome.kind === 'ready' ? current : undefined;
    },
    { timeoutMs, signal },
  );
  if (found === undefined) throw readyTooLate(`${Math.round(timeoutMs / 1_000)} s are over`);
  const { namespace = '', name = '' } = found.claim.metadata;
  return (await state.findSandbox(namespace, name)) ?? found;
}

/** Deletes a claim whose id no client has; the claim-controller deletes its variables. Never rejects. */
export async function withdrawClaim({ client, state, log }: StartDeps, claim: SandboxClaim): Promise<void> {
  const { namespace = '', name = '', uid } = claim.metadata;
  try {
    await client.delete(sandboxClaims, { namespace, name }, { uid, priority: 'claim', deadlineMs: 30_000 });
    state.claims.recordGone(claim);
  } catch (err) {
    if (!isNotFound(err))
      log.error({ err, namespace, sandbox: name }, 'could not delete the claim of a failed create; delete it by hand');
  }
}
