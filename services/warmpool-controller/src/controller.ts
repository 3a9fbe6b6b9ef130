import type { Sandbox, SandboxTemplate } from '@sandlot/api-types';
import type { PodDefaults } from '@sandlot/blueprint';
import { channelSource, controllerOf, createExpectations, keyOf, watchSource } from '@sandlot/kube';
import type { Expectations } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { BY_NAME_HASH, BY_TEMPLATE, createCache, formerPoolOf } from './cache.ts';
import type { Cache } from './cache.ts';
import { StatusPacer } from './pacer.ts';
import { reconcilePool } from './reconcile.ts';

export interface WarmPoolControllerOptions {
  readonly podDefaults: PodDefaults;
  readonly concurrency: number;
  readonly namespace: string | undefined;
}

/** A create or delete that the watch never shows is forgotten after this long (API contract, scaling). */
const EXPECTATION_TTL_MS = 30_000;

/** Wires the warmpool-controller into a manager. */
export function addWarmPoolController(
  parts: ControllerParts,
  options: WarmPoolControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, kubeMetrics } = parts;
  const cache = createCache({ client, clock, random, log, metrics: kubeMetrics, namespace: options.namespace });
  const expectations = createExpectations({ clock, ttlMs: EXPECTATION_TTL_MS });
  fulfilExpectations(cache, expectations);
  const hints = channelSource();
  const subscription = bus.onHint('claim.bound', ({ data }) => {
    if (data.pool !== undefined) hints.push(`${data.namespace}/${data.pool}`);
  });
  const deps = {
    client,
    cache,
    expectations,
    bus,
    random,
    podDefaults: options.podDefaults,
    pacer: new StatusPacer(() => clock.monotonic()),
    nowMs: () => clock.now(),
  };
  for (const informer of [cache.templates, cache.pools, cache.sandboxes]) manager.addInformer(informer);
  manager.add({
    name: 'warmpool',
    concurrency: options.concurrency,
    sources: [
      hints,
      watchSource(cache.pools, (pool) => [keyOf(pool)], { priority: 1 }),
      watchSource(cache.sandboxes, (sandbox) => poolsOfSandbox(cache, sandbox)),
      watchSource(cache.templates, (template) => poolsOfTemplate(cache, template)),
    ],
    reconcile: (key, context) => reconcilePool(deps, key, context),
  });
  return {
    close: async () => {
      subscription[Symbol.dispose]();
    },
  };
}

/** The pool that owns a Sandbox, or that a claim took it from. */
function poolsOfSandbox(cache: Cache, sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox);
  if (owner?.kind === 'SandboxWarmPool') return [`${sandbox.metadata.namespace ?? ''}/${owner.name}`];
  const former = formerPoolOf(sandbox);
  return former === undefined ? [] : [...cache.pools.store.byIndex(BY_NAME_HASH, former)].map(keyOf);
}

function poolsOfTemplate(cache: Cache, template: SandboxTemplate): string[] {
  return [...cache.pools.store.byIndex(BY_TEMPLATE, keyOf(template))].map(keyOf);
}

/** What the watch shows is no longer expected: a member that appears, and one that goes or is taken. */
function fulfilExpectations(cache: Cache, expectations: Expectations): void {
  cache.sandboxes.onChange(({ key, old, next }) => {
    for (const poolKey of next === undefined ? [] : poolsOfSandbox(cache, next))
      expectations.observedCreate(poolKey, key);
    const left = old !== undefined && (next === undefined || next.metadata.deletionTimestamp !== undefined);
    for (const poolKey of left ? poolsOfSandbox(cache, old) : []) {
      expectations.observedDelete(poolKey, old?.metadata.uid ?? '');
    }
  });
}
