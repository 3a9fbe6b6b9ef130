// A new claim on its way to a sandbox that clients may use.
import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isAlreadyExists, isNotFound, isUnknownOutcome } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { buildOutcome } from '../e2b/operations/create-outcome.ts';
import type { Asked } from '../e2b/operations/create-outcome.ts';
import { patchClaim } from '../e2b/operations/guarded-patches.ts';
import { firstRequestInProgress, readyTooLate } from '../errors/create-errors.ts';
import type { ClaimedSandbox, ClusterState } from '../state/cluster-state.ts';
import { addHeaderValues } from '../vault/stored-headers.ts';
import type { HeaderValues } from '../vault/stored-headers.ts';
import { createEnvSecret } from './env-secret.ts';
import type { Variables } from './env-secret.ts';
import { buildEndOfStarted, buildEndOfStarting, getRenewalMs } from './start-end.ts';

export interface StartDeps {
  readonly client: KubeClient;
  readonly state: ClusterState;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  /** Where the values of environment variables are stored. */
  readonly envsNamespace: string;
  /** Where the values of headers are stored; undefined: the installation has no vault. */
  readonly vaultNamespace: string | undefined;
}

export interface Start {
  readonly claim: SandboxClaim;
  readonly envs: Variables;
  /** What the keys of the claim's header rules stand for. */
  readonly headers: HeaderValues;
  readonly asked: Asked;
  /** Reserved for the sandbox; given back once the claim counts, or was not created. */
  readonly place: Disposable;
  /** Whether a request with the same Idempotency-Key may have created the claim. */
  readonly mayExist: boolean;
  readonly timeoutMs: number;
  /** The sandbox ends so long after it is Ready; undefined: its end stays as it is in the claim. */
  readonly lifetimeSeconds: number | undefined;
  /** Ends the wait when the client is gone; undefined: it goes on. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Creates the claim and waits until it is Ready. Deletes the claim again if anything fails after its creation. Throws an
 * ApiError, and rejects with a KubeError.
 */
export async function startClaim(deps: StartDeps, start: Start): Promise<ClaimedSandbox> {
  const { place } = start;
  const created = await createClaim(deps, start).finally(() => place[Symbol.dispose]());
  try {
    await storeValues(deps, start, created);
    return await waitUntilReady(deps, start, created);
  } catch (error) {
    await withdrawClaim(deps, created);
    throw error;
  }
}

/** Stores what the claim only refers to, under its UID. */
async function storeValues(deps: StartDeps, { envs, headers }: Start, created: SandboxClaim): Promise<void> {
  const { client, vaultNamespace } = deps;
  const hasHeaders = Object.keys(headers).length > 0 && vaultNamespace !== undefined;
  await Promise.all([
    ...(envs.length > 0 ? [createEnvSecret(deps, created, { envs })] : []),
    ...(hasHeaders ? [addHeaderValues({ client, vaultNamespace }, created, headers)] : []),
  ]);
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

/** Waits until the claim is Ready, and sets its end. Throws an ApiError if it fails or the create times out. */
async function waitUntilReady(deps: StartDeps, start: Start, claim: SandboxClaim): Promise<ClaimedSandbox> {
  const { timeoutMs, lifetimeSeconds } = start;
  const found = await waitAndRenew(deps, start, claim);
  if (found === undefined) throw readyTooLate(`${Math.round(timeoutMs / 1_000)} s are over`);
  const { namespace = '', name = '' } = found.claim.metadata;
  const ready = (await deps.state.findSandbox(namespace, name)) ?? found;
  if (lifetimeSeconds === undefined) return ready;
  return patchClaim(deps, ready, (current) => buildEndOfStarted(current.claim, lifetimeSeconds, deps.clock.now()));
}

/** Waits until the claim is Ready, and moves its end on in time. Resolves with undefined on timeout or when the client is gone. */
async function waitAndRenew(
  deps: StartDeps,
  { asked, timeoutMs, lifetimeSeconds, signal }: Start,
  created: SandboxClaim,
): Promise<ClaimedSandbox | undefined> {
  const { state, clock } = deps;
  const renewalMs = lifetimeSeconds === undefined ? Number.POSITIVE_INFINITY : getRenewalMs(lifetimeSeconds);
  const deadlineMs = clock.now() + timeoutMs;
  let claimed: ClaimedSandbox = { claim: created, sandbox: undefined };
  for (;;) {
    const leftMs = deadlineMs - clock.now();
    const found = await state.waitUntil(
      claimed,
      (current) => {
        claimed = current ?? claimed;
        const outcome = buildOutcome(claimed.claim, asked);
        if (outcome.kind === 'failed') throw outcome.error;
        return outcome.kind === 'ready' ? current : undefined;
      },
      { timeoutMs: Math.min(leftMs, renewalMs), signal },
    );
    if (found !== undefined || signal?.aborted === true || lifetimeSeconds === undefined || leftMs <= renewalMs)
      return found;
    claimed = await patchClaim(deps, claimed, () => buildEndOfStarting(created, lifetimeSeconds, clock.now()));
  }
}

/** Deletes a claim whose id no client has; the claim-controller deletes its variables, and the API its headers. Never rejects. */
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
