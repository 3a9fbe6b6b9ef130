import { controllerOf, createEventRecorder, channelSource, keyOf, watchSource } from '@sandlot/kube';
import type { KubeObject } from '@sandlot/kube';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { ControllerParts } from '@sandlot/service';
import { createStamp } from '@sandlot/std';
import { BY_POOL, BY_TEMPLATE, createCache } from './cache.ts';
import type { Cache } from './cache.ts';
import { createClaimEvents } from './events.ts';
import { createClaimMetrics } from './metrics.ts';
import { Observations } from './observations.ts';
import type { ClaimPolicy } from './observe.ts';
import { reconcileClaim } from './reconcile.ts';
import type { ReconcileDeps } from './reconcile.ts';
import { keepStock } from './stock-keeper.ts';
import { Stock } from './stock.ts';
import { Waiters } from './waiters.ts';
import { WriteBehind } from './write-behind.ts';

export interface ClaimControllerOptions {
  readonly policy: ClaimPolicy;
  readonly concurrency: number;
  readonly namespace: string | undefined;
  readonly writeBehindMs: number;
}

/** New claims go before the echoes of what was done for older ones. */
const PRIORITY = { claim: 10, sandbox: 5, reference: 0 } as const;

/** Wires the claim-controller into a manager. */
export function addClaimController(
  parts: ControllerParts,
  options: ClaimControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, clock, random, log, kubeMetrics } = parts;
  const shared = { client, clock, random, log, metrics: kubeMetrics, namespace: options.namespace };
  const cache = createCache(shared);
  const wakeups = channelSource();
  const stock = new Stock();
  const waiters = new Waiters();
  const observations = new Observations({ stamp: createStamp(clock), monotonic: () => clock.monotonic() });
  const nowMs = (): number => clock.now();
  const recorder = createEventRecorder({ client, clock, log, component: 'claim-controller' });
  const onFailure = (claimKey: string): void => wakeups.push(claimKey);
  const deps: ReconcileDeps = {
    client,
    cache,
    stock,
    waiters,
    observations,
    recorder,
    nowMs,
    sandboxes: cache.sandboxes.store,
    policy: options.policy,
    metrics: createClaimMetrics(parts.registry),
    events: createClaimEvents({ bus: parts.bus, nowMs }),
    writeBehind: new WriteBehind({ client, clock, log, windowMs: options.writeBehindMs, onFailure }),
  };
  keepStock({
    cache,
    stock,
    podDefaults: options.policy.podDefaults,
    onArrival: (poolUid) => {
      const next = waiters.next(poolUid);
      if (next !== undefined) wakeups.push(next, { priority: PRIORITY.claim });
    },
  });
  trackClaims(cache, observations);
  for (const informer of [cache.templates, cache.pools, cache.sandboxes, cache.claims]) manager.addInformer(informer);
  manager.add({
    name: 'claim',
    concurrency: options.concurrency,
    sources: [...claimSources(cache), wakeups],
    reconcile: (key, context) => reconcileClaim(deps, key, context),
  });
  return { close: () => recorder.flush() };
}

function claimSources(cache: Cache): ReturnType<typeof watchSource>[] {
  const keysOf = (objects: Iterable<KubeObject>): string[] => [...objects].map(keyOf);
  const claimsOfPool = (pool: SandboxWarmPool): string[] => [
    ...keysOf(cache.claims.store.byIndex(BY_POOL, keyOf(pool))),
    ...keysOf(
      cache.claims.store.byIndex(BY_TEMPLATE, `${pool.metadata.namespace ?? ''}/${pool.spec.sandboxTemplateRef.name}`),
    ),
  ];
  const claimsOfTemplate = (template: SandboxTemplate): string[] => {
    const pools = [...cache.pools.store.byIndex(BY_TEMPLATE, keyOf(template))];
    const viaPools = pools.flatMap((pool) => keysOf(cache.claims.store.byIndex(BY_POOL, keyOf(pool))));
    return [...keysOf(cache.claims.store.byIndex(BY_TEMPLATE, keyOf(template))), ...viaPools];
  };
  return [
    watchSource(cache.claims, (claim: SandboxClaim) => [keyOf(claim)], { priority: PRIORITY.claim }),
    watchSource(cache.sandboxes, claimOfSandbox, { priority: PRIORITY.sandbox }),
    watchSource(cache.pools, claimsOfPool, { priority: PRIORITY.reference }),
    watchSource(cache.templates, claimsOfTemplate, { priority: PRIORITY.reference }),
  ];
}

/** The claim that controls a Sandbox. A claim is also told of a Sandbox that bears its name, since that is in its way. */
function claimOfSandbox(sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox);
  const namespace = sandbox.metadata.namespace ?? '';
  return owner?.kind === 'SandboxClaim' ? [`${namespace}/${owner.name}`] : [];
}

/** First sight of a claim is when its latency begins; what is known of it goes with it. */
function trackClaims(cache: Cache, observations: Observations): void {
  cache.claims.onChange(({ old, next }) => {
    if (old !== undefined && old.metadata.uid !== next?.metadata.uid) observations.forget(old.metadata.uid ?? '');
    if (next !== undefined) observations.of(next.metadata.uid ?? '');
  });
  cache.sandboxes.onChange(({ old, next }) => {
    const owner = old === undefined || next !== undefined ? undefined : controllerOf(old);
    if (owner?.kind === 'SandboxClaim') observations.dropAssigned(owner.uid, old?.metadata.uid ?? '');
  });
}
