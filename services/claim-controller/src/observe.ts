import { annotations, isAdoptable } from '@sandlot/api-types';
import type { NetworkPolicyEgressRule, Sandbox, SandboxClaim, SandboxWarmPool } from '@sandlot/api-types';
import { formatColdName } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { getKey } from '@sandlot/kube';
import type { OwnWrites } from '@sandlot/kube';
import type { DeliveryMemory } from './delivery/delivery-memory.ts';
import type { ClaimMemory } from './memory/claim-memory.ts';
import { findTemplateGap, observeNetwork } from './network/observe-network.ts';
import type { ClaimSnapshot, EgressRulesPolicy } from './plan/snapshot.ts';
import type { Places } from './quota/places.ts';
import type { RuntimeInits } from './runtime/runtime-inits.ts';
import { findSource } from './source/find-source.ts';
import type { Stock } from './stock/stock.ts';
import type { Waiters } from './stock/waiters.ts';
import { BY_CONTROLLER, formatRefKey } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';

/** What the installation decides about claims and their pods. */
export interface ClaimPolicy {
  readonly allowedLabelDomains: readonly string[];
  readonly podDefaults: PodDefaults;
  /** Whether claims may have variables from Secrets of their namespace. */
  readonly envsFromSecrets: boolean;
  /** Where the API stores the variables of its sandboxes; undefined: this installation runs no API. */
  readonly envsNamespace?: string | undefined;
  readonly egressRules: EgressRulesPolicy;
  /** Whether claims may name PersistentVolumes. */
  readonly persistentVolumes: boolean;
  /** The rule that lets Pods reach the egress proxy; undefined: the installation has none. */
  readonly proxyRule?: NetworkPolicyEgressRule | undefined;
}

export interface ObserveDeps {
  readonly cache: Cache;
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly stock: Stock;
  readonly waiters: Waiters;
  readonly memory: ClaimMemory;
  readonly deliveries: DeliveryMemory;
  readonly runtime: RuntimeInits;
  readonly places: Places;
  readonly policy: ClaimPolicy;
  readonly nowMs: () => number;
}

const UNREAD: ClaimSnapshot['persistentVolumes'] = new Map();

/** One moment's view of a claim, from the caches and this process's memory. Reads nothing from the API server. */
export function observe(deps: ObserveDeps, claim: SandboxClaim): ClaimSnapshot {
  const { cache, places, policy, runtime } = deps;
  const source = findSource(cache, claim);
  const pools = source.kind === 'found' ? source.pools : [];
  const committed = findOwnedSandboxes(deps, claim);
  runtime.recordShown(claim, committed);
  const owned = committed.map((sandbox) => runtime.buildView(claim, sandbox));
  const coldName = formatColdName(claim, undefined);
  const isOwned = owned.some(({ metadata }) => metadata.name === coldName);
  return {
    ...observeStock(deps, claim, pools),
    ...observeMemory(deps, claim),
    claim,
    source,
    owned,
    uninitialised: runtime.listUninitialised(claim, committed),
    namesake: isOwned ? undefined : cache.sandboxes.store.get(formatRefKey(claim, coldName)),
    rival: findRival(cache, claim),
    promised: findPromisedSandbox(cache, claim, pools),
    quota: places.findPendingQuota(claim),
    networkGap: findTemplateGap(cache.policies.store, source),
    network: observeNetwork({ policies: cache.policies.store, proxyRule: policy.proxyRule }, claim, source),
    nowMs: deps.nowMs(),
    allowedLabelDomains: policy.allowedLabelDomains,
    podDefaults: policy.podDefaults,
    envsFromSecrets: policy.envsFromSecrets,
    egressRules: policy.egressRules,
    canReadStoredEnvs: policy.envsNamespace !== undefined,
    persistentVolumes: policy.persistentVolumes ? UNREAD : 'off',
  };
}

function observeStock(
  { stock, waiters }: ObserveDeps,
  claim: SandboxClaim,
  pools: readonly SandboxWarmPool[],
): Pick<ClaimSnapshot, 'offers' | 'warming'> {
  return {
    offers: pools.filter(({ metadata }) => waiters.mayAdopt(getKey(claim), metadata.uid ?? '')),
    warming: pools.reduce((sum, { metadata }) => sum + stock.warming(metadata.uid ?? ''), 0),
  };
}

type FromMemory = Pick<
  ClaimSnapshot,
  'failures' | 'timedSince' | 'knownForMs' | 'isInBurst' | 'committedForMs' | 'pausedForMs' | 'refusedRequest'
>;

function observeMemory({ memory, deliveries }: ObserveDeps, claim: SandboxClaim): FromMemory {
  const { pausedForMs, refusedRequest } = memory.of(claim);
  return {
    failures: deliveries.findFailures(claim),
    timedSince: deliveries.getTimedSince(claim),
    knownForMs: memory.elapsedMs(claim),
    isInBurst: memory.isInBurst(claim),
    committedForMs: memory.findCommittedForMs(claim),
    pausedForMs,
    refusedRequest,
  };
}

/** Other controllers of this API annotate the claim with a Sandbox before they adopt it: this controller completes that adoption. */
function findPromisedSandbox(
  { sandboxes }: Cache,
  claim: SandboxClaim,
  pools: readonly SandboxWarmPool[],
): Sandbox | undefined {
  const name = claim.spec.sandboxName === undefined ? findAnnotatedName(claim) : undefined;
  const sandbox = name === undefined ? undefined : sandboxes.store.get(formatRefKey(claim, name));
  return sandbox !== undefined && pools.some((pool) => isAdoptable(sandbox, pool)) ? sandbox : undefined;
}

/** Another claim of the name that the Sandbox is to have: a cold start of that claim has this name. */
function findRival({ claims }: Cache, claim: SandboxClaim): SandboxClaim | undefined {
  const { sandboxName } = claim.spec;
  if (sandboxName === undefined || sandboxName === claim.metadata.name) return undefined;
  return claims.store.get(formatRefKey(claim, sandboxName));
}

/** The Sandbox noted on the claim in an annotation or, by old releases, in a label. */
function findAnnotatedName({ metadata }: SandboxClaim): string | undefined {
  return metadata.annotations?.[annotations.sandboxName] ?? metadata.labels?.[annotations.sandboxName];
}

/** Sandboxes that the claim controls and has not given up. */
function findOwnedSandboxes({ sandboxes, deliveries }: ObserveDeps, claim: SandboxClaim): readonly Sandbox[] {
  const owned = [...sandboxes.listByIndex(BY_CONTROLLER, claim.metadata.uid ?? '')];
  return owned.filter((sandbox) => !deliveries.isDiscarded(claim, sandbox));
}
