import type { MountedVolume, SandboxClaim } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import { carrier } from '@sandlot/telemetry';
import type { ApiKey } from '@sandlot/tenancy';
import type { z } from 'zod';
import { buildE2bClaim } from '../../claim/build-e2b-claim.ts';
import type { ClaimInput } from '../../claim/build-e2b-claim.ts';
import { startClaim } from '../../claim/start-claim.ts';
import type { StartDeps } from '../../claim/start-claim.ts';
import { buildTokenAnnotations } from '../../claim/token-annotations.ts';
import { ApiError, forbidden } from '../../errors/api-error.ts';
import type { Answer, TenantCall } from '../../http/route.ts';
import { identifyCreate } from '../../idempotency/identify.ts';
import type { CreateIdentity } from '../../idempotency/identify.ts';
import type { CreateLedger } from '../../idempotency/ledger.ts';
import { replayCreate } from '../../idempotency/replay.ts';
import { buildRateHeaders } from '../../limits/create-rate.ts';
import type { Allowance } from '../../limits/allowance.ts';
import type { Limits } from '../../limits/limits.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { StoredRules } from '../../vault/stored-headers.ts';
import { buildAnswer } from '../answer/sandbox.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import type { ControlKeys } from '../request/control-keys.ts';
import type { createHeaders } from '../request/headers.ts';
import { readCreate } from '../request/read-create.ts';
import type { CreateRequest } from '../request/read-create.ts';
import type { NewSandbox } from '../request/schemas.ts';
import { findSnapshotName } from '../snapshots/snapshot-name.ts';
import { findTemplateOf } from '../templates/find-source.ts';
import { findStart } from '../templates/public/copy-public.ts';
import type { CopyDeps } from '../templates/public/copy-public.ts';
import type { Source } from '../templates/source.ts';
import { resolveMounts } from '../volumes/resolve-mounts.ts';
import type { MountDeps } from '../volumes/resolve-mounts.ts';
import { admitRules, NO_STORED_RULES } from '../egress/admit-rules.ts';
import type { RuleDeps } from '../egress/admit-rules.ts';
import type { CreateMetrics } from './create-metrics.ts';
import { getResult } from './create-metrics.ts';

export interface CreateDeps extends CopyDeps, StartDeps, RuleDeps, MountDeps {
  readonly client: StartDeps['client'];
  readonly limits: Limits;
  readonly ledger: CreateLedger;
  readonly answers: AnswerOptions;
  readonly createMetrics: CreateMetrics;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly createTimeoutMs: number;
}

export type CreateCall = TenantCall<{
  params: unknown;
  query: unknown;
  headers: z.output<typeof createHeaders>;
  body: NewSandbox;
}>;

/** A checked create, with the id that its sandbox will have. */
interface Creation {
  readonly key: ApiKey;
  readonly request: CreateRequest;
  readonly identity: CreateIdentity;
  readonly signal: AbortSignal;
}

/** Answers a create: 201 with a sandbox whose daemon answers, or an error after which nothing of the sandbox is left. */
export async function createSandbox(deps: CreateDeps, call: CreateCall): Promise<Answer> {
  const { limits, ledger, answers, createMetrics } = deps;
  const { key, trail } = call;
  const headers = buildRateHeaders(limits.createRate.take(key));
  try {
    const creation = admitCreate(deps, call);
    const { sandbox, digest } = creation.identity;
    trail.about(sandbox);
    const replay =
      digest === undefined ? undefined : await replayCreate(deps, { sandbox, digest, request: creation.request });
    if (replay !== undefined) {
      createMetrics.countCreate('replayed');
      return { status: 201, body: replay, headers };
    }
    const claimed = await createClaimedSandbox(deps, creation);
    if (digest !== undefined) ledger.keepInBackground(claimed.claim);
    trail.about({ name: sandbox.name, uid: claimed.claim.metadata.uid ?? '' });
    createMetrics.countCreate('created');
    return { status: 201, body: buildAnswer(claimed, answers), headers };
  } catch (error) {
    createMetrics.countCreate(getResult(error));
    if (error instanceof ApiError) throw addHeaders(error, headers);
    throw error;
  }
}

/** Checks a create against the request's schema and the limits of the key. Throws an ApiError 400 or 403. */
function admitCreate({ limits, answers: { tokenKeys } }: CreateDeps, call: CreateCall): Creation {
  const { key, body, signal } = call;
  const allowance = limits.getAllowance(key);
  const request = readCreate(body, allowance);
  assertAllowed(request.control, allowance);
  const { 'Idempotency-Key': idempotencyKey } = call.readHeaders();
  const identity = identifyCreate(tokenKeys, { key, idempotencyKey, body });
  return { key, request, identity, signal };
}

/** Throws an ApiError 403 for a control key that needs a limit which the API key does not have. */
function assertAllowed({ neverTimeout, keepFailed = false, sandboxName }: ControlKeys, allowance: Allowance): void {
  if (neverTimeout === true && !allowance.neverTimeout) {
    throw forbidden('this API key may not make sandboxes without a timeout');
  }
  if (keepFailed !== false && !allowance.keepFailed) {
    throw forbidden('this API key may not keep sandboxes whose creation failed');
  }
  if (sandboxName?.isPrefix === false && !allowance.chooseName) {
    throw forbidden('this API key may not choose the name of a sandbox; send sandbox-generate-name instead');
  }
}

/** Creates the claim and waits until it is Ready. Deletes the claim again if anything fails after its creation. */
async function createClaimedSandbox(deps: CreateDeps, creation: Creation): Promise<ClaimedSandbox> {
  const { key, request, identity, signal } = creation;
  const { createTimeoutMs, neverTimeout } = request.control;
  const source = await findStart(deps, key, request.templateID);
  const stored = await storeRequestRules(deps, creation, source);
  const volumes = await findVolumes(deps, creation);
  const claim = buildClaim(deps, creation, { source, rules: stored.rules, volumes });
  return startClaim(deps, {
    claim,
    envs: request.envs,
    headers: stored.values,
    asked: { isPatient: createTimeoutMs !== undefined, templateID: request.templateID },
    place: deps.limits.sandboxQuota.reserve(key),
    mayExist: identity.digest !== undefined,
    timeoutMs: createTimeoutMs ?? deps.createTimeoutMs,
    lifetimeSeconds: neverTimeout === true ? undefined : request.timeoutSeconds,
    // With an Idempotency-Key the client may disconnect and repeat the create, so the first request goes on without it.
    signal: identity.digest === undefined ? signal : undefined,
  });
}

/** Checks the header rules of a create, and gives their values keys. Throws an ApiError 400. */
async function storeRequestRules(
  deps: CreateDeps,
  { key: { namespace }, request }: Creation,
  source: Source,
): Promise<StoredRules> {
  const { headerRules, templateID, control } = request;
  if (headerRules.length === 0) return NO_STORED_RULES;
  const made = await findTemplateOf(deps, source);
  const skipsInit = control.skipInitRuntime === true;
  return admitRules(deps, headerRules, { namespace, templateName: made?.metadata.name ?? templateID, made, skipsInit });
}

/** The volumes of a create, whose directories are there from then on. Throws an ApiError 400, and 503 without their file server. */
function findVolumes(
  deps: CreateDeps,
  { key: { namespace }, request: { volumeMounts }, signal }: Creation,
): Promise<readonly MountedVolume[]> {
  return volumeMounts.length === 0 ? Promise.resolve([]) : resolveMounts(deps, { namespace, volumeMounts, signal });
}

function buildClaim(
  { answers, clock, limits }: CreateDeps,
  { key, request, identity }: Creation,
  { source, rules, volumes }: Pick<ClaimInput, 'rules' | 'volumes'> & { readonly source: Source },
): SandboxClaim {
  const { sandbox, digest } = identity;
  return buildE2bClaim({
    request,
    key,
    sandboxLimit: limits.getAllowance(key).sandboxes,
    id: sandbox.name,
    source,
    snapshotName: findStartName(source),
    rules,
    volumes,
    nowMs: clock.now(),
    tokens: buildTokenAnnotations(answers.tokenKeys, sandbox, { isPublic: request.allowPublicTraffic }),
    digest,
    trace: carrier.inject(),
  });
}

/** Answers show it as the alias. */
function findStartName(source: Source): string | undefined {
  const { snapshot } = source.kind === 'template' ? source : {};
  return snapshot === undefined ? undefined : findSnapshotName(snapshot)?.name;
}

function addHeaders(error: ApiError, headers: Readonly<Record<string, string>>): ApiError {
  const { status, message, errorCode, cause } = error;
  return new ApiError({ status, message, errorCode, cause, headers: { ...headers, ...error.headers } });
}
