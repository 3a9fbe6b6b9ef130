import { annotations, sandboxConditions, findCondition, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxWarmPool } from '@sandlot/api-types';
import type { PodDefaults } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import { BY_CONTROLLER, BY_TEMPLATE, refKey } from './cache.ts';
import type { Cache } from './cache.ts';
import type { Observations } from './observations.ts';
import type { ClaimSnapshot, Origin } from './snapshot.ts';
import type { Candidate, Stock } from './stock.ts';

/** What the installation decides about claims and their pods. */
export interface ClaimPolicy {
  readonly allowedLabelDomains: readonly string[];
  readonly podDefaults: PodDefaults;
}

export interface ObserveDeps {
  readonly cache: Cache;
  readonly stock: Stock;
  readonly observations: Observations;
  readonly policy: ClaimPolicy;
  readonly nowMs: () => number;
}

/** One moment's view of a claim, from memory alone. */
export function observe(deps: ObserveDeps, claim: SandboxClaim): ClaimSnapshot {
  const { cache, stock, policy } = deps;
  const origin = originOf(cache, claim);
  const poolUids = origin.kind === 'found' ? origin.pools.map(({ metadata }) => metadata.uid ?? '') : [];
  const owned = ownedSandboxes(deps, claim);
  const namesake = cache.sandboxes.store.get(keyOf(claim));
  const isOwned = owned.some((sandbox) => sandbox.metadata.name === claim.metadata.name);
  return {
    claim,
    origin,
    owned,
    namesake: isOwned ? undefined : namesake,
    stock: {
      available: poolUids.reduce((sum, uid) => sum + stock.available(uid), 0),
      warming: poolUids.reduce((sum, uid) => sum + stock.warming(uid), 0),
    },
    nowMs: deps.nowMs(),
    allowedLabelDomains: policy.allowedLabelDomains,
    podDefaults: policy.podDefaults,
    traceContext: claim.metadata.annotations?.[annotations.traceContext],
  };
}

/** What the watch shows, and what this process committed that the watch does not show yet. */
function ownedSandboxes({ cache, observations }: ObserveDeps, claim: SandboxClaim): readonly Sandbox[] {
  const uid = claim.metadata.uid ?? '';
  const shown = [...cache.sandboxes.store.byIndex(BY_CONTROLLER, uid)];
  const observation = observations.of(uid);
  const { assigned } = observation;
  if (assigned === undefined) return shown;
  if (shown.some((sandbox) => sandbox.metadata.uid === assigned.metadata.uid)) {
    delete observation.assigned;
    return shown;
  }
  return [...shown, assigned];
}

function originOf({ pools, templates }: Cache, claim: SandboxClaim): Origin {
  const { warmPoolRef, sandboxTemplateRef, warmpool = 'default' } = claim.spec;
  const pool = warmPoolRef === undefined ? undefined : pools.store.get(refKey(claim, warmPoolRef.name));
  if (warmPoolRef !== undefined && pool === undefined) return { kind: 'missingPool', name: warmPoolRef.name };
  const templateName = pool?.spec.sandboxTemplateRef.name ?? sandboxTemplateRef?.name ?? '';
  const template = templates.store.get(refKey(claim, templateName));
  if (template === undefined) return { kind: 'missingTemplate', name: templateName };
  if (pool !== undefined) return { kind: 'found', template, pools: [pool] };
  const ofTemplate = [...pools.store.byIndex(BY_TEMPLATE, refKey(claim, templateName))];
  const wanted = (candidate: SandboxWarmPool): boolean =>
    warmpool === 'default' || candidate.metadata.name === warmpool;
  return { kind: 'found', template, pools: warmpool === 'none' ? [] : ofTemplate.filter(wanted) };
}

export interface CandidateInput {
  readonly sandbox: Sandbox;
  readonly pool: SandboxWarmPool;
  /** Whether it is built from the template as it is now. */
  readonly current: boolean;
}

/** The member as a candidate; undefined when it may not be adopted (API contract, candidates). */
export function candidateOf({ sandbox, pool, current }: CandidateInput): Candidate | undefined {
  const { metadata, status } = sandbox;
  const marked =
    metadata.labels?.[labels.warmPoolMember] !== undefined && metadata.labels[labels.templateRefHash] !== undefined;
  if (!marked || metadata.deletionTimestamp !== undefined) return undefined;
  const finished = findCondition(status?.conditions, sandboxConditions.finished)?.status === 'True';
  const refusesStale = (pool.spec.updateStrategy?.type ?? 'OnReplenish') !== 'OnReplenish';
  if (finished || (refusesStale && !current)) return undefined;
  return {
    key: keyOf(sandbox),
    poolUid: pool.metadata.uid ?? '',
    node: status?.nodeName ?? '',
    ready: findCondition(status?.conditions, sandboxConditions.ready)?.status === 'True',
    addressed: (status?.podIPs ?? []).length > 0,
    current,
  };
}
