import { createHash } from 'node:crypto';
import { sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isAlreadyExists, isNotFound, isUnknownOutcome } from '@sandlot/kube';
import type { ObjectKey } from '@sandlot/kube';
import { hashApiKey, newSandboxId, repeatableSandboxId, trafficAccessToken } from '@sandlot/tenancy';
import type { ApiKey } from '@sandlot/tenancy';
import { carrier } from '@sandlot/telemetry';
import type { Deps } from '../../wiring/deps.ts';
import { ApiError, badRequest, forbidden } from '../../errors/api-error.ts';
import type { CreateOutcome } from '../../http/metrics.ts';
import type { Answer, TenantCall } from '../../http/route.ts';
import type { Held } from '../../state/cluster-state.ts';
import { claimOf, readCreate } from '../../claim/from-e2b.ts';
import type { CreateRequest } from '../../claim/from-e2b.ts';
import { storeEnvs } from '../../claim/env-secret.ts';
import { findOrigin } from './find-source.ts';
import { outcomeOf, tooLate } from './create-outcome.ts';
import { inProgress, replayed } from '../../idempotency/replay.ts';
import { takePlace } from '../../limits/sandbox-quota.ts';
import { rateHeaders, takeCreate } from '../../limits/create-rate.ts';
import type { NewSandbox } from '../request/schemas.ts';
import { allowanceOf } from '../../limits/allowance.ts';
import { answerOf } from '../answer/tokens.ts';

const IDEMPOTENCY_KEY = /^[a-z0-9-]{1,255}$/;

/** Who creates what, once it is known that he may. */
interface Creation {
  readonly key: ApiKey;
  readonly request: CreateRequest;
  readonly sandbox: ObjectKey & { readonly namespace: string };
  /** Of a create that may be repeated: what it was. */
  readonly digest: string | undefined;
  readonly signal: AbortSignal;
}

/** `POST /v2/sandboxes` and its predecessor: a sandbox whose daemon answers, or a refusal that leaves nothing behind. */
export async function createSandbox(deps: Deps, call: TenantCall<unknown, unknown, NewSandbox>): Promise<Answer> {
  const { key, body, trail } = call;
  const allowance = allowanceOf(key, deps.settings);
  const rate = takeCreate(deps, key, allowance.createsPerSecond);
  const headers = rateHeaders(rate);
  try {
    const request = readCreate(body, allowance);
    if (request.kruise.neverTimeout === true && !allowance.neverTimeout) {
      throw forbidden('this API key may not make sandboxes without a timeout');
    }
    const creation = identified(deps, call, request);
    trail.about(creation.sandbox);
    const { sandbox, digest } = creation;
    const replay = digest === undefined ? undefined : await replayed(deps, { sandbox, digest });
    if (replay !== undefined) {
      deps.metrics.created('replayed');
      return { status: 201, body: replay, headers };
    }
    const held = await created(deps, creation);
    if (digest !== undefined) deps.ledger.keepBehind(held.claim);
    trail.about({ name: sandbox.name, uid: held.claim.metadata.uid ?? '' });
    deps.metrics.created('created');
    return { status: 201, body: answerOf(deps, held), headers };
  } catch (error) {
    deps.metrics.created(failureOf(error));
    if (error instanceof ApiError) throw withHeaders(error, headers);
    throw error;
  }
}

/** The claim's name is the signal of a repetition; what outlives the claim is in the ledger (E2B contract, conventions). */
function identified(
  { tokenKey }: Deps,
  { key, header, body, signal }: TenantCall<unknown, unknown, NewSandbox>,
  request: CreateRequest,
): Creation {
  const { namespace } = key;
  const given = header('idempotency-key');
  if (given === undefined) {
    return { key, request, sandbox: { namespace, name: newSandboxId() }, digest: undefined, signal };
  }
  if (!IDEMPOTENCY_KEY.test(given)) throw badRequest('Idempotency-Key: expected 1 to 255 of a-z, 0-9 and -');
  const name = repeatableSandboxId(tokenKey, `${namespace}/${key.team}`, given);
  // A salt that never leaves: the request may hold secrets, and short ones could be found out from a plain digest.
  const digest = createHash('sha256').update(tokenKey).update(canonical(body)).digest('hex');
  return { key, request, sandbox: { namespace, name }, digest, signal };
}

/** JSON with sorted members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

async function created(deps: Deps, creation: Creation): Promise<Held> {
  const { key, sandbox, request } = creation;
  const origin = await findOrigin(deps, key, request.templateID);
  const trafficTokenHash = request.allowPublicTraffic
    ? undefined
    : hashApiKey(trafficAccessToken(deps.tokenKey, `${sandbox.namespace}/${sandbox.name}`));
  const claim = claimOf({
    request,
    key,
    id: sandbox.name,
    origin,
    nowMs: deps.clock.now(),
    trafficTokenHash,
    digest: creation.digest,
    trace: carrier.inject(),
  });
  const place = takePlace(deps, key);
  const made = await submitted(deps, creation, claim).finally(() => place[Symbol.dispose]());
  try {
    if (request.envs.length > 0) await storeEnvs(deps, made, request);
    return await settled(deps, creation, made);
  } catch (error) {
    await withdraw(deps, made);
    throw error;
  }
}

/** The claim as the API server made it. */
async function submitted(deps: Deps, creation: Creation, claim: SandboxClaim): Promise<SandboxClaim> {
  const { sandbox, digest } = creation;
  const { world, client } = deps;
  const key = `${sandbox.namespace}/${sandbox.name}`;
  try {
    return await world.claims.write(key, () => client.create(sandboxClaims, claim, { priority: 'claim' }));
  } catch (error) {
    if (isAlreadyExists(error) && digest !== undefined) throw inProgress();
    // Whether it was made is not known: nobody will ask for it, so it must not stay.
    if (isUnknownOutcome(error)) void withdraw(deps, claim);
    throw error;
  }
}

/** Waits for the bus or the watch to say what has become of the claim. */
async function settled(deps: Deps, { request, signal, digest }: Creation, claim: SandboxClaim): Promise<Held> {
  const { createTimeoutMs } = request.kruise;
  const timeoutMs = createTimeoutMs ?? deps.settings.CREATE_TIMEOUT;
  const { world } = deps;
  const found = await world.settle(
    { claim, sandbox: undefined },
    (held) => {
      const outcome = outcomeOf(held?.claim ?? claim, createTimeoutMs !== undefined);
      if (outcome.kind === 'failed') throw outcome.error;
      return outcome.kind === 'ready' ? held : undefined;
    },
    // A caller that may come again with his key is waited for.
    { timeoutMs, signal: digest === undefined ? signal : undefined },
  );
  if (found === undefined) throw tooLate(`${Math.round(timeoutMs / 1_000)} s are over`);
  const { namespace = '', name = '' } = found.claim.metadata;
  return (await world.find(namespace, name)) ?? found;
}

/** Deletes a claim that nobody was told of; its Secret goes with it. */
async function withdraw(deps: Deps, claim: SandboxClaim): Promise<void> {
  const { namespace = '', name = '', uid } = claim.metadata;
  try {
    await deps.client.delete(sandboxClaims, { namespace, name }, { uid, priority: 'claim', deadlineMs: 30_000 });
    deps.world.claims.gone(claim);
  } catch (err) {
    if (!isNotFound(err))
      deps.log.error({ err, namespace, sandbox: name }, 'a claim nobody was given is left; delete it');
  }
}

function withHeaders(error: ApiError, headers: Readonly<Record<string, string>>): ApiError {
  const { status, message, errorCode, cause } = error;
  return new ApiError({ status, message, errorCode, cause, headers: { ...headers, ...error.headers } });
}

function failureOf(error: unknown): CreateOutcome {
  if (!(error instanceof ApiError)) return 'failed';
  if (error.errorCode === 'sandbox_capacity_unavailable') return 'no_stock';
  if (error.status === 504) return 'timeout';
  if (error.status === 429) return 'limited';
  return error.status < 500 ? 'refused' : 'failed';
}
