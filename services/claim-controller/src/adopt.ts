import { sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { adoptionPatch } from '@sandlot/blueprint';
import { controllerOf, isConflict, isNotFound, isUnknownOutcome, parseKey, RetryableError } from '@sandlot/kube';
import type { KubeClient, Store } from '@sandlot/kube';
import type { ClaimMetrics } from './metrics.ts';
import type { Observations } from './observations.ts';
import type { Stock } from './stock.ts';

/** Candidates tried in one pass; more conflicts than this mean that the view is behind. */
const MAX_CANDIDATES = 3;
/** Writes of one candidate that lose against harmless changes of it, such as a status update. */
const MAX_RETRIES = 2;

export interface AdoptDeps {
  readonly client: KubeClient;
  readonly stock: Stock;
  readonly sandboxes: Store<Sandbox>;
  readonly observations: Observations;
  readonly metrics: ClaimMetrics;
}

export interface AdoptInput {
  readonly claim: SandboxClaim;
  readonly pools: readonly SandboxWarmPool[];
  readonly template: SandboxTemplate;
  readonly traceContext: string | undefined;
}

type Attempt =
  | { readonly kind: 'committed'; readonly sandbox: Sandbox }
  /** Somebody else has it, or it is gone. */
  | { readonly kind: 'lost' }
  /** Still the pool's, and changing faster than we write. */
  | { readonly kind: 'busy' };

/**
 * W1: commits one warm Sandbox to the claim with a single guarded write each, best candidate first. Undefined when no
 * candidate could be had. After a write without an answer the Sandbox is read until its owner is known; no other
 * candidate is touched before (API contract, the commit protocol).
 */
export async function adopt(deps: AdoptDeps, input: AdoptInput, signal: AbortSignal): Promise<Sandbox | undefined> {
  const poolUids = input.pools.map((pool) => pool.metadata.uid ?? '');
  for (let tried = 0; tried < MAX_CANDIDATES; tried += 1) {
    const candidate = deps.stock.pick(poolUids);
    if (candidate === undefined) return undefined;
    const member = deps.sandboxes.get(candidate.key);
    const attempt = member === undefined ? { kind: 'lost' as const } : await commit(deps, { ...input, member, signal });
    deps.metrics.adoption(attempt.kind);
    if (attempt.kind === 'committed') return attempt.sandbox;
    if (attempt.kind === 'busy') deps.stock.release(candidate.key);
  }
  return undefined;
}

interface CommitInput extends AdoptInput {
  readonly member: Sandbox;
  readonly signal: AbortSignal;
}

async function commit(deps: AdoptDeps, input: CommitInput): Promise<Attempt> {
  const key = { namespace: input.member.metadata.namespace, name: input.member.metadata.name ?? '' };
  let member = input.member;
  for (let retry = 0; retry <= MAX_RETRIES; retry += 1) {
    const pool = poolOf(member, input.pools);
    if (pool === undefined) return { kind: 'lost' };
    const patch = adoptionPatch({ ...input, member, poolName: pool.metadata.name ?? '' });
    try {
      const sandbox = await deps.client.mergePatch(sandboxes, key, patch, { priority: 'claim', signal: input.signal });
      return { kind: 'committed', sandbox };
    } catch (error) {
      if (isNotFound(error)) return { kind: 'lost' };
      if (!isConflict(error) && !isUnknownOutcome(error)) {
        deps.stock.release(`${key.namespace ?? ''}/${key.name}`);
        throw error;
      }
      const live = await readOwner(deps, input, key);
      if (live === undefined) return { kind: 'lost' };
      if (isOwnedBy(live, input.claim)) return { kind: 'committed', sandbox: live };
      member = live;
    }
  }
  return { kind: 'busy' };
}

/** The Sandbox as the API server has it now. If that cannot be learnt, the next pass over the claim begins with it. */
async function readOwner(
  deps: AdoptDeps,
  { claim, signal }: CommitInput,
  key: { namespace: string | undefined; name: string },
): Promise<Sandbox | undefined> {
  const observation = deps.observations.of(claim.metadata.uid ?? '');
  observation.unsettled = `${key.namespace ?? ''}/${key.name}`;
  try {
    const live = await deps.client.get(sandboxes, key, { priority: 'claim', signal });
    delete observation.unsettled;
    return live;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    delete observation.unsettled;
    return undefined;
  }
}

/**
 * Learns the fate of a commit that an earlier pass could not: the Sandbox when it is the claim's. Throws while the API
 * server does not say, so that the claim is retried and never given a second one meanwhile.
 */
export async function settle(deps: AdoptDeps, claim: SandboxClaim, signal: AbortSignal): Promise<Sandbox | undefined> {
  const observation = deps.observations.of(claim.metadata.uid ?? '');
  const { unsettled } = observation;
  if (unsettled === undefined) return undefined;
  let live: Sandbox | undefined;
  try {
    live = await deps.client.get(sandboxes, parseKey(unsettled), { priority: 'claim', signal });
  } catch (error) {
    if (!isNotFound(error)) throw new RetryableError('a commit is unsettled and cannot be read', { cause: error });
  }
  delete observation.unsettled;
  if (live !== undefined && isOwnedBy(live, claim)) return live;
  deps.stock.release(unsettled);
  return undefined;
}

/** Whether the claim controls this Sandbox: by group, kind and UID, whichever version wrote the reference. */
export function isOwnedBy(sandbox: Sandbox, claim: SandboxClaim): boolean {
  return controllerOf(sandbox)?.uid === claim.metadata.uid;
}

/** The pool a member still belongs to, if it may be adopted from it. */
function poolOf(member: Sandbox, pools: readonly SandboxWarmPool[]): SandboxWarmPool | undefined {
  if (member.metadata.deletionTimestamp !== undefined) return undefined;
  const owner = controllerOf(member)?.uid;
  return pools.find((pool) => pool.metadata.uid === owner);
}
