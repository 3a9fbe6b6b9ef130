import { findEgressWish, isAdoptable, labels, needsEgressProxy, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { buildAdoptionPatch } from '@sandlot/blueprint';
import { isConflict, isNotFound, isUnknownOutcome, getKey } from '@sandlot/kube';
import type { KubeClient, OwnWrites } from '@sandlot/kube';
import { spanAttributes, spanNames, withChildSpan } from '@sandlot/telemetry';
import type { EarlyNotes } from '../plan/pass.ts';
import { hasRuntime } from '../runtime/claim-env.ts';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import type { ClaimMetrics } from '../telemetry/metrics.ts';
import type { Promised } from '../plan/plan.ts';
import type { Stock } from '../stock/stock.ts';
import { linkToWarming } from '../telemetry/trace.ts';
import { listMissingVolumes } from '../volumes/volume-sources.ts';
import { readUnconfirmed } from './confirm.ts';
import type { Commitment } from './confirm.ts';
import { isCommitted } from './owner.ts';
import type { CommitTarget } from './owner.ts';

/** Candidates tried in one pass; more conflicts than this mean that the watch is behind. */
const MAX_CANDIDATES = 3;
/** Retries of the patch after conflicts with harmless changes of the candidate, such as a status update. */
const MAX_RETRIES = 2;

export interface AdoptDeps {
  readonly client: KubeClient;
  readonly stock: Stock;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly memory: ClaimMemory;
  readonly metrics: ClaimMetrics;
}

export interface AdoptInput extends CommitTarget {
  readonly record: Commitment;
  readonly pools: readonly SandboxWarmPool[];
  readonly promised?: Promised | undefined;
  readonly template: SandboxTemplate;
  /** Trace context for the Sandbox, in the JSON of its annotation. */
  readonly traceContext: string | undefined;
  /** Sent beside the patch. */
  readonly early?: EarlyNotes | undefined;
  readonly signal: AbortSignal;
}

type Attempt =
  | { readonly kind: 'committed'; readonly sandbox: Sandbox }
  /** Another claim has it, or it is gone. */
  | { readonly kind: 'lost' }
  /** Still the pool's, but it changes faster than this process can patch it. */
  | { readonly kind: 'busy' };

const LOST: Attempt = { kind: 'lost' };

/**
 * W1: commits one warm Sandbox to the claim with one guarded patch per candidate, best candidate first. Undefined when it
 * could adopt none. After a patch without an answer the claim reads the Sandbox until its owner is known, and touches no
 * other candidate before (docs/reference/sandbox-claim.md#adoption).
 */
export async function adopt(deps: AdoptDeps, input: AdoptInput): Promise<Sandbox | undefined> {
  const promised = input.promised === undefined ? undefined : await adoptPromised(deps, input, input.promised);
  if (promised !== undefined) return promised;
  const poolUids = input.pools.map(({ metadata }) => metadata.uid ?? '');
  for (let tried = 0; tried < MAX_CANDIDATES; tried += 1) {
    const candidate = deps.stock.pick(poolUids);
    if (candidate === undefined) return undefined;
    const member = deps.sandboxes.get(candidate.key);
    const attempt = member === undefined ? LOST : await tryCandidate(deps, input, member);
    deps.metrics.countAdoption(attempt.kind);
    if (attempt.kind === 'committed') return attempt.sandbox;
    if (attempt.kind === 'busy') deps.stock.release(candidate.key);
  }
  return undefined;
}

async function adoptPromised(
  deps: AdoptDeps,
  input: AdoptInput,
  { member, pools }: Promised,
): Promise<Sandbox | undefined> {
  deps.stock.reserve(getKey(member));
  const attempt = await tryCandidate(deps, { ...input, pools }, member);
  deps.metrics.countAdoption(attempt.kind);
  if (attempt.kind === 'busy') deps.stock.release(getKey(member));
  return attempt.kind === 'committed' ? attempt.sandbox : undefined;
}

/** One `claim.commit` span per candidate, linked to the trace in which the pool warmed it. */
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
    if (!canServe(input.claim, member)) return { kind: 'busy' };
    const answer = await patchOnce(deps, input, { member, pool });
    if (answer === undefined) return LOST;
    if (isCommitted(answer, input)) return { kind: 'committed', sandbox: answer };
    member = answer;
  }
  return { kind: 'busy' };
}

/** Whether a member, which may be older than its template, has what the claim needs. */
function canServe(claim: SandboxClaim, member: Sandbox): boolean {
  return canTakeVariables(claim, member) && canReachNames(claim, member) && hasVolumes(claim, member);
}

function hasVolumes(claim: SandboxClaim, { spec }: Sandbox): boolean {
  return listMissingVolumes(claim, spec.podTemplate.spec).length === 0;
}

/** A member built before its template had a daemon cannot take variables; other members may. */
function canTakeVariables({ spec }: SandboxClaim, member: Sandbox): boolean {
  return (spec.envs ?? []).length === 0 || hasRuntime(member);
}

/** The Pod of a member that is older than the mode of its template does not ask the egress resolver. */
function canReachNames(claim: SandboxClaim, { metadata }: Sandbox): boolean {
  const wish = findEgressWish(claim);
  return wish === undefined || !needsEgressProxy(wish) || metadata.labels?.[labels.egress] !== undefined;
}

interface Choice {
  readonly member: Sandbox;
  readonly pool: SandboxWarmPool;
}

/** Patches once. Returns the Sandbox after the patch, even if it belongs to another claim; undefined when it is gone. */
async function patchOnce(deps: AdoptDeps, input: AdoptInput, { member, pool }: Choice): Promise<Sandbox | undefined> {
  const { namespace, name = '' } = member.metadata;
  const patch = buildAdoptionPatch({ ...input, member, poolName: pool.metadata.name ?? '' });
  const options = { priority: 'claim', signal: input.signal } as const;
  try {
    const written = deps.sandboxes.write(getKey(member), () =>
      deps.client.mergePatch(sandboxes, { namespace, name }, patch, options),
    );
    input.early?.begin(member, input.traceContext);
    return await written;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (!isConflict(error) && !isUnknownOutcome(error)) {
      deps.stock.release(getKey(member));
      throw error;
    }
    input.record.unconfirmed = getKey(member);
  }
  return readUnconfirmed(deps, input.record, input.signal);
}
