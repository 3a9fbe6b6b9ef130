import { isAdoptable, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { adoptionPatch, fillsSlotOf, slotOf } from '@sandlot/blueprint';
import { controllerOf, isConflict, isNotFound, isUnknownOutcome, keyOf, parseKey, RetryableError } from '@sandlot/kube';
import type { KubeClient, Store } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import { hasRuntime } from '../runtime/claim-env.ts';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import type { ClaimMetrics } from '../telemetry/metrics.ts';
import type { Promised } from '../plan/plan.ts';
import type { Stock } from '../stock/stock.ts';
import { linkToWarming } from '../telemetry/trace.ts';

/** Candidates tried in one pass; more conflicts than this mean that the view is behind. */
const MAX_CANDIDATES = 3;
/** Writes of one candidate that lose against harmless changes of it, such as a status update. */
const MAX_RETRIES = 2;

export interface AdoptDeps {
  readonly client: KubeClient;
  readonly stock: Stock;
  readonly sandboxes: Store<Sandbox>;
  readonly memory: ClaimMemory;
  readonly metrics: ClaimMetrics;
}

/** What this process knows of a commit that it tried. */
export interface Commitment {
  /** Key of a Sandbox that may or may not have been committed: settled before any other is touched. */
  unsettled?: string | undefined;
}

export interface AdoptInput {
  readonly claim: SandboxClaim;
  /** Of a detached claim: the slot to fill. */
  readonly slot?: number | undefined;
  readonly record: Commitment;
  readonly pools: readonly SandboxWarmPool[];
  readonly promised?: Promised | undefined;
  readonly template: SandboxTemplate;
  /** Trace context to hand on, as the annotation's JSON. */
  readonly traceContext: string | undefined;
  readonly signal: AbortSignal;
}

type Attempt =
  | { readonly kind: 'committed'; readonly sandbox: Sandbox }
  /** Somebody else has it, or it is gone. */
  | { readonly kind: 'lost' }
  /** Still the pool's, and changing faster than we write. */
  | { readonly kind: 'busy' };

const LOST: Attempt = { kind: 'lost' };

/**
 * W1: commits one warm Sandbox to the claim with a single guarded write each, best candidate first. Undefined when no
 * candidate could be had. After a write without an answer the Sandbox is read until its owner is known; no other
 * candidate is touched before (API contract, the commit protocol).
 */
export async function adopt(deps: AdoptDeps, input: AdoptInput): Promise<Sandbox | undefined> {
  const kept = input.promised === undefined ? undefined : await keepPromise(deps, input, input.promised);
  if (kept !== undefined) return kept;
  const poolUids = input.pools.map(({ metadata }) => metadata.uid ?? '');
  for (let tried = 0; tried < MAX_CANDIDATES; tried += 1) {
    const candidate = deps.stock.pick(poolUids);
    if (candidate === undefined) return undefined;
    const member = deps.sandboxes.get(candidate.key);
    const attempt = member === undefined ? LOST : await tryCandidate(deps, input, member);
    deps.metrics.adoption(attempt.kind);
    if (attempt.kind === 'committed') return attempt.sandbox;
    if (attempt.kind === 'busy') deps.stock.release(candidate.key);
  }
  return undefined;
}

async function keepPromise(
  deps: AdoptDeps,
  input: AdoptInput,
  { member, pools }: Promised,
): Promise<Sandbox | undefined> {
  deps.stock.reserve(keyOf(member));
  const attempt = await tryCandidate(deps, { ...input, pools }, member);
  deps.metrics.adoption(attempt.kind);
  if (attempt.kind === 'busy') deps.stock.release(keyOf(member));
  return attempt.kind === 'committed' ? attempt.sandbox : undefined;
}

/** One `claim.commit` span per candidate; the adoption is linked to the trace in which the pool warmed it. */
async function tryCandidate(deps: AdoptDeps, input: AdoptInput, picked: Sandbox): Promise<Attempt> {
  const attributes = { [spanAttributes.sandboxName]: picked.metadata.name ?? '' };
  const attempt = await withChildSpan({ name: spanNames.claimCommit, attributes }, async (span) => {
    const tried = await commit(deps, input, picked);
    span.setAttribute(spanAttributes.result, tried.kind);
    return tried;
  });
  if (attempt.kind === 'committed') linkToWarming(attempt.sandbox);
  return attempt;
}

async function commit(deps: AdoptDeps, input: AdoptInput, picked: Sandbox): Promise<Attempt> {
  let member = picked;
  for (let retry = 0; retry <= MAX_RETRIES; retry += 1) {
    const pool = input.pools.find((candidate) => isAdoptable(member, candidate));
    if (pool === undefined) return LOST;
    if (!takesVariables(input.claim, member)) return { kind: 'busy' };
    const answer = await tryOnce(deps, input, { member, pool });
    if (answer === undefined) return LOST;
    if (isTaken(answer, input)) return { kind: 'committed', sandbox: answer };
    member = answer;
  }
  return { kind: 'busy' };
}

/** A member from before its template had a daemon cannot be given variables; others may have it. */
function takesVariables({ spec }: SandboxClaim, member: Sandbox): boolean {
  return (spec.envs ?? []).length === 0 || hasRuntime(member);
}

interface Choice {
  readonly member: Sandbox;
  readonly pool: SandboxWarmPool;
}

/** One write, and the Sandbox as it is after it, whoever it belongs to; undefined when it is gone. */
async function tryOnce(deps: AdoptDeps, input: AdoptInput, { member, pool }: Choice): Promise<Sandbox | undefined> {
  const { namespace, name = '' } = member.metadata;
  const patch = adoptionPatch({ ...input, member, poolName: pool.metadata.name ?? '' });
  const options = { priority: 'claim', signal: input.signal } as const;
  try {
    return await deps.client.mergePatch(sandboxes, { namespace, name }, patch, options);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (!isConflict(error) && !isUnknownOutcome(error)) {
      deps.stock.release(keyOf(member));
      throw error;
    }
    input.record.unsettled = keyOf(member);
  }
  return lookUp(deps, input.record, input.signal);
}

/** The unsettled Sandbox as the API server has it now. While it does not say, the claim's next pass begins with this. */
async function lookUp(deps: AdoptDeps, record: Commitment, signal: AbortSignal): Promise<Sandbox | undefined> {
  let live: Sandbox | undefined;
  try {
    live = await deps.client.get(sandboxes, parseKey(record.unsettled ?? ''), { priority: 'claim', signal });
  } catch (error) {
    if (!isNotFound(error)) throw new RetryableError('whose a Sandbox is cannot be read', { cause: error });
  }
  record.unsettled = undefined;
  return live;
}

export type SettleInput = Pick<AdoptInput, 'claim' | 'slot' | 'record' | 'signal'>;

/**
 * Learns the fate of a commit that an earlier pass could not: the Sandbox, if it was committed. Throws while the API
 * server does not say, so that the claim is retried and never given a second Sandbox meanwhile.
 */
export async function settle(deps: AdoptDeps, input: SettleInput): Promise<Sandbox | undefined> {
  const { unsettled } = input.record;
  if (unsettled === undefined) return undefined;
  const live = await lookUp(deps, input.record, input.signal);
  if (live !== undefined && isTaken(live, input)) return live;
  deps.stock.release(unsettled);
  return undefined;
}

/** Whether the Sandbox is what the claim, or a slot of it, was to get. */
export function isTaken(sandbox: Sandbox, { claim, slot }: Pick<AdoptInput, 'claim' | 'slot'>): boolean {
  if (slot === undefined) return isOwnedBy(sandbox, claim);
  return fillsSlotOf(sandbox, claim) && slotOf(sandbox) === slot;
}

/** Whether the claim controls this Sandbox: by UID, whichever version wrote the reference. */
export function isOwnedBy(sandbox: Sandbox, claim: SandboxClaim): boolean {
  return controllerOf(sandbox)?.uid === claim.metadata.uid;
}
