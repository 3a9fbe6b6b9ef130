// A new claim on its way to a sandbox that clients may use.
import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { getKey, isAlreadyExists, isNotFound, isUnknownOutcome } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { buildOutcome } from '../e2b/operations/create-outcome.ts';
import type { Asked } from '../e2b/operations/create-outcome.ts';
import { patchClaim } from '../e2b/operations/guarded-patches.ts';
import { firstRequestInProgress, readyTooLate, rulesTooLate } from '../errors/create-errors.ts';
import { awaitRules, formatSpread, hasRulesOfProxy } from '../replicas/await-rules.ts';
import type { RulesDeps, Spread } from '../replicas/await-rules.ts';
import type { ClaimedSandbox, ClusterState, WaitLimits } from '../state/cluster-state.ts';
import { addHeaderValues } from '../vault/stored-headers.ts';
import type { HeaderValues } from '../vault/stored-headers.ts';
import { createEnvSecret } from './env-secret.ts';
import type { Variables } from './env-secret.ts';
import { buildEndOfStarted, buildEndOfStarting, getRenewalMs } from './start-end.ts';

export interface StartDeps extends RulesDeps {
  readonly client: KubeClient;
  readonly state: ClusterState;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
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
 * Creates the claim and waits until it is Ready, and its names and header rules hold. Deletes the claim again if anything fails after its creation. Throws an
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

/** Waits until the claim is usable, and sets its end. Throws an ApiError if it fails or the create times out. */
async function waitUntilReady(deps: StartDeps, start: Start, claim: SandboxClaim): Promise<ClaimedSandbox> {
  const { timeoutMs, lifetimeSeconds } = start;
  const { ready, spread } = await waitAndRenew(deps, start, claim);
  if (ready === undefined) throw readyTooLate(`${Math.round(timeoutMs / 1_000)} s are over`);
  if (spread?.isComplete === false) throw rulesTooLate(formatSpread(spread));
  if (lifetimeSeconds === undefined) return ready;
  return patchClaim(deps, ready, (current) => buildEndOfStarted(current.claim, lifetimeSeconds, deps.clock.now()));
}

/** How far a start has come. */
interface Progress {
  /** Undefined: the claim is not Ready. */
  readonly ready?: ClaimedSandbox | undefined;
  /** Which replicas of the egress proxy have its rules; undefined: it has none. */
  readonly spread?: Spread | undefined;
}

/** Waits until the claim is usable, and moves its end on in time. Ends before that on timeout or when the client is gone. */
async function waitAndRenew(deps: StartDeps, start: Start, created: SandboxClaim): Promise<Progress> {
  const { state, clock } = deps;
  const { timeoutMs, lifetimeSeconds, signal } = start;
  const renewalMs = lifetimeSeconds === undefined ? Number.POSITIVE_INFINITY : getRenewalMs(lifetimeSeconds);
  const deadlineMs = clock.now() + timeoutMs;
  let claim = created;
  for (;;) {
    const leftMs = deadlineMs - clock.now();
    const progress = await waitOnce(deps, start, { claim, timeoutMs: Math.min(leftMs, renewalMs), signal });
    if (isUsable(progress) || signal?.aborted === true) return progress;
    if (lifetimeSeconds === undefined || leftMs <= renewalMs) return progress;
    const current = state.withSandbox(state.claims.get(getKey(claim)) ?? claim);
    ({ claim } = await patchClaim(deps, current, () => buildEndOfStarting(created, lifetimeSeconds, clock.now())));
  }
}

function isUsable({ ready, spread }: Progress): boolean {
  return ready !== undefined && spread?.isComplete !== false;
}

async function waitOnce(
  deps: StartDeps,
  { asked }: Start,
  { claim, timeoutMs, signal }: WaitLimits & { readonly claim: SandboxClaim },
): Promise<Progress> {
  const { state, clock } = deps;
  const untilMs = clock.now() + timeoutMs;
  const found = await state.waitUntil(
    { claim, sandbox: undefined },
    (current) => {
      const outcome = buildOutcome(current?.claim ?? claim, asked);
      if (outcome.kind === 'failed') throw outcome.error;
      return outcome.kind === 'ready' ? current : undefined;
    },
    { timeoutMs, signal },
  );
  if (found === undefined) return {};
  const { namespace = '', name = '' } = found.claim.metadata;
  const ready = (await state.findSandbox(namespace, name)) ?? found;
  if (!hasRulesOfProxy(ready.claim)) return { ready };
  return { ready, spread: await awaitRules(deps, ready, { timeoutMs: untilMs - clock.now(), signal }) };
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
