import { annotations, isAdoptable } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxWarmPool } from '@sandlot/api-types';
import type { PodDefaults } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import { BY_CONTROLLER, BY_TEMPLATE, refKey } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';
import type { ClaimMemory } from './memory/claim-memory.ts';
import { ownNetworkOf } from './network/own-network.ts';
import type { RuntimeInits } from './runtime/runtime-inits.ts';
import type { ClaimSnapshot, Origin } from './plan/snapshot.ts';
import type { Stock } from './stock/stock.ts';
import type { Waiters } from './stock/waiters.ts';

/** What the installation decides about claims and their pods. */
export interface ClaimPolicy {
  readonly allowedLabelDomains: readonly string[];
  readonly podDefaults: PodDefaults;
  /** Whether claims may have variables from Secrets of their namespace. */
  readonly envsFromSecrets: boolean;
  /** Whether claims may name PersistentVolumes. */
  readonly persistentVolumes: boolean;
}

export interface ObserveDeps {
  readonly cache: Cache;
  readonly stock: Stock;
  readonly waiters: Waiters;
  readonly memory: ClaimMemory;
  readonly runtime: RuntimeInits;
  readonly policy: ClaimPolicy;
  readonly nowMs: () => number;
}

const UNREAD: ClaimSnapshot['persistentVolumes'] = new Map();

/** One moment's view of a claim, from memory alone. */
export function observe(deps: ObserveDeps, claim: SandboxClaim): ClaimSnapshot {
  const { cache, stock, waiters, policy, runtime } = deps;
  const origin = originOf(cache, claim);
  const pools = origin.kind === 'found' ? origin.pools : [];
  const committed = ownedSandboxes(deps, claim);
  const owned = committed.map((sandbox) => runtime.view(claim, sandbox));
  const isOwned = owned.some(({ metadata }) => metadata.name === claim.metadata.name);
  return {
    claim,
    origin,
    owned,
    uninitialised: runtime.pending(claim, committed),
    namesake: isOwned ? undefined : cache.sandboxes.store.get(keyOf(claim)),
    promised: promisedSandbox(cache, claim, pools),
    offers: pools.filter(({ metadata }) => waiters.mayTake(keyOf(claim), metadata.uid ?? '')),
    warming: pools.reduce((sum, { metadata }) => sum + stock.warming(metadata.uid ?? ''), 0),
    failures: deps.memory.failuresOf(claim),
    sinceMs: (sandbox) => deps.memory.sinceMs(claim, sandbox, deps.nowMs()),
    network: ownNetworkOf(cache.policies.store, claim, origin),
    nowMs: deps.nowMs(),
    pausedForMs: deps.memory.of(claim).pausedForMs,
    allowedLabelDomains: policy.allowedLabelDomains,
    podDefaults: policy.podDefaults,
    envsFromSecrets: policy.envsFromSecrets,
    persistentVolumes: policy.persistentVolumes ? UNREAD : 'off',
  };
}

/** Other controllers of this API note the Sandbox on the claim before they commit it: such an adoption is completed. */
function promisedSandbox(
  { sandboxes }: Cache,
  claim: SandboxClaim,
  pools: readonly SandboxWarmPool[],
): Sandbox | undefined {
  const name = notedName(claim);
  const sandbox = name === undefined ? undefined : sandboxes.store.get(refKey(claim, name));
  return sandbox !== undefined && pools.some((pool) => isAdoptable(sandbox, pool)) ? sandbox : undefined;
}

/** The Sandbox that is noted on the claim, as an annotation or, by old releases, as a label. */
function notedName({ metadata }: SandboxClaim): string | undefined {
  return metadata.annotations?.[annotations.sandboxName] ?? metadata.labels?.[annotations.sandboxName];
}

/** What the watch shows, and what this process committed that the watch does not show yet. */
function ownedSandboxes({ cache, memory }: ObserveDeps, claim: SandboxClaim): readonly Sandbox[] {
  const all = [...cache.sandboxes.store.byIndex(BY_CONTROLLER, claim.metadata.uid ?? '')];
  const shown = all.filter((sandbox) => !memory.isDiscarded(claim, sandbox));
  const assigned = memory.of(claim).assigned?.sandbox;
  if (assigned === undefined) return shown;
  if (!shown.some(({ metadata }) => metadata.uid === assigned.metadata.uid)) return [...shown, assigned];
  memory.release(claim);
  return shown;
}

function originOf(cache: Cache, claim: SandboxClaim): Origin {
  const { warmPoolRef, sandboxTemplateRef } = claim.spec;
  return warmPoolRef === undefined
    ? originByTemplate(cache, claim, sandboxTemplateRef?.name ?? '')
    : originByPool(cache, claim, warmPoolRef.name);
}

function originByPool({ pools, templates }: Cache, claim: SandboxClaim, name: string): Origin {
  const pool = pools.store.get(refKey(claim, name));
  if (pool === undefined) return { kind: 'missingPool', name };
  const { name: templateName } = pool.spec.sandboxTemplateRef;
  const template = templates.store.get(refKey(claim, templateName));
  return template === undefined
    ? { kind: 'missingTemplate', name: templateName }
    : { kind: 'found', template, pools: [pool] };
}

function originByTemplate({ pools, templates }: Cache, claim: SandboxClaim, name: string): Origin {
  const template = templates.store.get(refKey(claim, name));
  if (template === undefined) return { kind: 'missingTemplate', name };
  const { warmpool = 'default' } = claim.spec;
  const ofTemplate = warmpool === 'none' ? [] : [...pools.store.byIndex(BY_TEMPLATE, refKey(claim, name))];
  const wanted = ofTemplate.filter(({ metadata }) => warmpool === 'default' || metadata.name === warmpool);
  return { kind: 'found', template, pools: wanted };
}
