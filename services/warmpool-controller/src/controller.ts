import type { Sandbox, SandboxTemplate } from '@sandlot/api-types';
import { createCurrencyTest } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { channelSource, controllerOf, createExpectations, keyOf, watchSource } from '@sandlot/kube';
import type { Expectations } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { BY_FORMER_POOL, BY_TEMPLATE, createCache, formerPoolOf } from './cache.ts';
import type { Cache } from './cache.ts';
import { UNSEEN_LIMIT_MS } from './decide.ts';
import { reconcilePool } from './reconcile.ts';
import { StatusWrites } from './status-writes.ts';

export interface WarmPoolControllerOptions {
  readonly podDefaults: PodDefaults;
  readonly concurrency: number;
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
}

/** Wires the warmpool-controller into a manager. */
export function addWarmPoolController(
  parts: ControllerParts,
  { podDefaults, concurrency, namespace }: WarmPoolControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, kubeMetrics } = parts;
  const cache = createCache({ client, clock, random, log, metrics: kubeMetrics, namespace });
  const expectations = createExpectations({ clock, metrics: kubeMetrics, ttlMs: UNSEEN_LIMIT_MS });
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
    podDefaults,
    nowMs: () => clock.now(),
    isCurrent: createCurrencyTest(podDefaults),
    statusWrites: new StatusWrites(() => clock.monotonic()),
  };
  manager.add({
    name: 'warmpool',
    concurrency,
    sources: [
      hints,
      watchSource(cache.pools, (pool) => [keyOf(pool)], { priority: 1 }),
      watchSource(cache.sandboxes, (sandbox) => poolsOfSandbox(cache, sandbox)),
      watchSource(cache.templates, (template) => poolsOfTemplate(cache, template)),
    ],
    reconcile: (key, context) => reconcilePool(deps, key, context),
  });
  return { close: async () => subscription[Symbol.dispose]() };
}

/** The pool that owns a Sandbox, or that a claim took it from. */
function poolsOfSandbox(cache: Cache, sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox);
  if (owner?.kind === 'SandboxWarmPool') return [`${sandbox.metadata.namespace ?? ''}/${owner.name}`];
  const former = formerPoolOf(sandbox);
  return former === undefined ? [] : [...cache.pools.store.byIndex(BY_FORMER_POOL, former)].map(keyOf);
}

function poolsOfTemplate(cache: Cache, template: SandboxTemplate): string[] {
  return [...cache.pools.store.byIndex(BY_TEMPLATE, keyOf(template))].map(keyOf);
}

/** What the watch shows is no longer expected: a member that appears, and one that goes or is taken. */
function fulfilExpectations(cache: Cache, expectations: Expectations): void {
  cache.sandboxes.onChange(({ key, old, next }) => {
    for (const pool of next === undefined ? [] : poolsOfSandbox(cache, next)) expectations.observedCreate(pool, key);
    if (old === undefined || !hasLeft(old, next)) return;
    for (const pool of poolsOfSandbox(cache, old)) expectations.observedDelete(pool, old.metadata.uid ?? '');
  });
}

function hasLeft(old: Sandbox, next: Sandbox | undefined): boolean {
  const taken = controllerOf(old)?.uid !== (next === undefined ? undefined : controllerOf(next)?.uid);
  return taken || next?.metadata.deletionTimestamp !== undefined;
}
