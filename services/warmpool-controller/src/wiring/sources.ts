// What enqueues a pool.
import { findCondition, findTemplateOfPolicy, templateConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { createChannelSource, findController, getKey, watchSource } from '@sandlot/kube';
import type { Change, NetworkPolicy, Source } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { BY_HASH, BY_TEMPLATE, findFormerPool, findStrayPool } from './cache.ts';
import type { Cache } from './cache.ts';
import { enqueueDelayMs, isRelevantToPool } from './sandbox-changes.ts';

/** A pool's own changes, and those of its Sandboxes and of its template. */
export function createWatchSources(cache: Cache): readonly Source[] {
  return [
    watchSource(cache.pools, (pool) => [getKey(pool)], { priority: 1 }),
    watchSource(
      cache.sandboxes,
      (sandbox, change) => (isRelevantToPool(change) ? listPoolsOfSandbox(cache, sandbox) : []),
      { delayMs: enqueueDelayMs },
    ),
    watchSource(cache.templates, (template, change) => (isRelevantTemplate(change) ? listPools(cache, template) : [])),
    watchSource(cache.policies, (policy) => listPoolsOfPolicy(cache, policy)),
    // Enqueues nothing: a pool that makes members must know the golden snapshots that there are.
    ...(cache.snapshots === undefined ? [] : [watchSource(cache.snapshots, () => [])]),
  ];
}

/** Enqueues the pool of each `claim.bound` on the bus, which often arrives before the watch shows the adoption. */
export function createHintSource(bus: Bus): { readonly hints: Source; readonly subscription: Disposable } {
  const hints = createChannelSource();
  const subscription = bus.onHint('claim.bound', ({ data }) => {
    if (data.pool !== undefined) hints.push(`${data.namespace}/${data.pool}`, { delayMs: pacing.poolChanges.gatherMs });
  });
  return { hints, subscription };
}

/** Keys of the pool that owns a Sandbox, or that a claim adopted it from, or whose stray it is. */
export function listPoolsOfSandbox(cache: Cache, sandbox: Sandbox): readonly string[] {
  const owner = findController(sandbox);
  if (owner?.kind === 'SandboxWarmPool') return [`${sandbox.metadata.namespace ?? ''}/${owner.name}`];
  const hash = findFormerPool(sandbox) ?? findStrayPool(sandbox);
  return hash === undefined ? [] : [...cache.pools.store.listByIndex(BY_HASH, hash)].map(getKey);
}

/** The pool that owns a Sandbox, proven by its UID. */
export function findOwningPool(cache: Cache, sandbox: Sandbox): SandboxWarmPool | undefined {
  const owner = findController(sandbox);
  if (owner?.kind !== 'SandboxWarmPool') return undefined;
  const pool = cache.pools.store.get(`${sandbox.metadata.namespace ?? ''}/${owner.name}`);
  return pool?.metadata.uid === owner.uid ? pool : undefined;
}

function listPools(cache: Cache, template: SandboxTemplate): string[] {
  return [...cache.pools.store.listByIndex(BY_TEMPLATE, getKey(template))].map(getKey);
}

/** Pools of the template whose policy it is: none of them creates members without it. */
function listPoolsOfPolicy(cache: Cache, policy: NetworkPolicy): string[] {
  const template = findTemplateOfPolicy(policy);
  if (template === undefined) return [];
  const key = `${policy.metadata.namespace ?? ''}/${template}`;
  return [...cache.pools.store.listByIndex(BY_TEMPLATE, key)].map(getKey);
}

/** The status of a template counts its pools and changes with each adoption; a pool needs only the spec and the conditions. */
function isRelevantTemplate({ old, next }: Change<SandboxTemplate>): boolean {
  const same = old?.metadata.uid === next?.metadata.uid && old?.metadata.generation === next?.metadata.generation;
  return !same || formatFindings(old) !== formatFindings(next);
}

function formatFindings(template: SandboxTemplate | undefined): string {
  const { conditions } = template?.status ?? {};
  const accepted = findCondition(conditions, templateConditions.accepted);
  const { status, observedGeneration } = findCondition(conditions, templateConditions.networkPolicyReady) ?? {};
  return JSON.stringify([accepted?.status, status, observedGeneration]);
}
