import { claimMessages, claimReasons, isMadeByApi } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { done, isForbidden, isInvalid, keyOf, requeueAfter, TerminalError } from '@sandlot/kube';
import type { ReconcileContext, ReconcileResult } from '@sandlot/kube';
import { settle } from './adopt/adopt.ts';
import { apply } from './apply.ts';
import { takesSecrets } from './runtime/claim-env.ts';
import type { SecretProblem } from './runtime/secret-values.ts';
import { secretProblem } from './runtime/check-secrets.ts';
import { endBatches } from './batch/end-batches.ts';
import { observeBatch } from './batch/observe-batch.ts';
import type { BatchSnapshot } from './batch/observe-batch.ts';
import { decideBatch } from './batch/decide-batch.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import type { ObserveDeps } from './observe.ts';
import type { Pass } from './plan/pass.ts';
import type { ApplyDeps } from './plan/apply-deps.ts';
import { withPersistentVolumes } from './volumes/persistent-volumes.ts';
import type { Plan, Step } from './plan/plan.ts';
import { freeSlots } from './batch/slots.ts';
import type { ClaimSnapshot } from './plan/snapshot.ts';
import { isDetached } from './publish/status.ts';

/** Quotas and roles change without an event that reaches us. */
const FORBIDDEN_RETRY_MS = 60_000;

/** Steps that ask the API server for what the claim and its template say. */
const ASKING: ReadonlySet<Step['kind']> = new Set(['adopt', 'create', 'fillSlots', 'syncMetadata', 'syncSlots']);

export type ReconcileDeps = ObserveDeps & ApplyDeps;

/** One pass over one claim: observe, decide, apply. */
export async function reconcileClaim(
  deps: ReconcileDeps,
  key: string,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { signal } = context;
  await endBatches(deps, key, context);
  const watched = deps.cache.claims.store.get(key);
  if (watched === undefined) {
    deps.waiters.remove(key);
    return done;
  }
  const claim = deps.memory.latest(watched);
  const pass = passOf(claim, signal);
  const { plan, request } = await (isDetached(claim) ? planBatch(deps, pass) : planBound(deps, pass));
  const isRefused = deps.memory.of(claim).refused === request;
  const secrets = plan.some(({ kind }) => ASKING.has(kind)) ? await secretProblem(deps, pass) : undefined;
  if (secrets !== undefined) return reportSecrets(deps, pass, secrets);
  const allowed = plan.filter((step) => !isRefused || !ASKING.has(step.kind));
  if (!waitsForStock(allowed)) deps.waiters.remove(key);
  try {
    return await apply(deps, pass, allowed);
  } catch (error) {
    if (!isInvalid(error) && !isForbidden(error)) throw error;
    deps.waiters.remove(key);
    if (isInvalid(error)) deps.memory.of(claim).refused = request;
    return refuse(deps, pass, error);
  }
}

function passOf(claim: SandboxClaim, signal: AbortSignal): Pass {
  return takesSecrets(claim) ? { claim, signal, secrets: new Map() } : { claim, signal };
}

/** Secrets come without an event that reaches us. */
const SECRET_RETRY_MS = 10_000;
/** The API makes a claim first and the Secret that goes with it right after: so long it is on its way, and nothing to report. */
const API_SECRET_MS = 5_000;
const API_SECRET_RETRY_MS = 5;

async function reportSecrets(deps: ReconcileDeps, pass: Pass, problem: SecretProblem): Promise<ReconcileResult> {
  deps.waiters.remove(keyOf(pass.claim));
  if (problem.isMissing && isMadeByApi(pass.claim) && deps.memory.elapsedMs(pass.claim) < API_SECRET_MS) {
    return requeueAfter(API_SECRET_RETRY_MS, 'the Secret of a claim is on its way');
  }
  const report = { reason: claimReasons.reconcilerError, message: claimMessages.error(problem.message) };
  await apply(deps, pass, [{ kind: 'report', report }]);
  return requeueAfter(SECRET_RETRY_MS, 'a Secret may not be used');
}

interface Intent {
  readonly plan: Plan;
  /** What the API server would be asked for. */
  readonly request: string;
}

async function planBound(deps: ReconcileDeps, pass: Pass): Promise<Intent> {
  const { claim, signal } = pass;
  const committed = await settle(deps, { claim, record: deps.memory.of(claim), signal });
  if (committed !== undefined) deps.memory.assign(claim, committed);
  const wants = ({ owned }: ClaimSnapshot): boolean => owned.length === 0;
  const snapshot = await withPersistentVolumes(deps, pass, { observe: () => observe(deps, claim), wants });
  return { plan: decide(snapshot), request: requestOf(snapshot) };
}

async function planBatch(deps: ReconcileDeps, pass: Pass): Promise<Intent> {
  const { claim, signal } = pass;
  for (const [slot, record] of deps.batches.unsettled(claim)) {
    const committed = await settle(deps, { claim, slot, record, signal });
    if (committed !== undefined) deps.batches.settled(claim, committed, deps.nowMs());
  }
  const wants = ({ claim: newest, live }: BatchSnapshot): boolean => freeSlots(newest, live).length > 0;
  const snapshot = await withPersistentVolumes(deps, pass, { observe: () => observeBatch(deps, claim), wants });
  return { plan: decideBatch(snapshot), request: requestOf(snapshot) };
}

/** What the API server is asked for, in the claim's name. */
function requestOf({ claim, origin, owned }: ClaimSnapshot): string {
  const template = origin.kind === 'found' ? origin.template.metadata : {};
  return JSON.stringify([claim.metadata.generation, template.uid, template.generation, owned.length]);
}

function waitsForStock(plan: Plan): boolean {
  return plan.some(({ kind }) => kind === 'adopt' || kind === 'queueForStock' || kind === 'fillSlots');
}

/** The API server refuses what the claim or its template asks for: its words help the tenant. */
async function refuse(deps: ReconcileDeps, pass: Pass, error: Error): Promise<ReconcileResult> {
  const final = isInvalid(error);
  const message = claimMessages.error(error.message);
  await apply(deps, pass, [{ kind: 'report', report: { reason: claimReasons.reconcilerError, message, final } }]);
  if (final) throw new TerminalError(error.message, { cause: error });
  return requeueAfter(FORBIDDEN_RETRY_MS, 'the API server forbids what the claim needs');
}
