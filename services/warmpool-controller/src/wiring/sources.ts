// What enqueues a pool.
import { findCondition, templateConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { channelSource, controllerOf, keyOf, watchSource } from '@sandlot/kube';
import type { Change, Source } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { BY_HASH, BY_TEMPLATE, formerPoolOf, strayPoolOf } from './cache.ts';
import type { Cache } from './cache.ts';
import { enqueueDelayMs, isRelevantToPool } from './sandbox-changes.ts';

/** A pool's own changes, and those of its Sandboxes and of its template. */
export function createWatchSources(cache: Cache): readonly Source[] {
  return [
    watchSource(cache.pools, (pool) => [keyOf(pool)], { priority: 1 }),
    watchSource(
      cache.sandboxes,
      (sandbox, change) => (isRelevantToPool(change) ? poolsOfSandbox(cache, sandbox) : []),
      { delayMs: enqueueDelayMs },
    ),
    watchSource(cache.templates, (template, change) => (isRelevantTemplate(change) ? poolsOf(cache, template) : [])),
  ];
}

/** Enqueues the pool of each `claim.bound` on the bus, which often arrives before the watch shows the adoption. */
export function createHintSource(bus: Bus): { readonly hints: Source; readonly subscription: Disposable } {
  const hints = channelSource();
  const subscription = bus.onHint('claim.bound', ({ data }) => {
    if (data.pool !== undefined) hints.push(`${data.namespace}/${data.pool}`, { delayMs: pacing.poolChanges.gatherMs });
  });
  return { hints, subscription };
}

/** Keys of the pool that owns a Sandbox, or that a claim adopted it from, or whose stray it is. */
export function poolsOfSandbox(cache: Cache, sandbox: Sandbox): readonly string[] {
  const owner = controllerOf(sandbox);
  if (owner?.kind === 'SandboxWarmPool') return [`${sandbox.metadata.namespace ?? ''}/${owner.name}`];
  const hash = formerPoolOf(sandbox) ?? strayPoolOf(sandbox);
  return hash === undefined ? [] : [...cache.pools.store.byIndex(BY_HASH, hash)].map(keyOf);
}

/** The pool that owns a Sandbox, proven by its UID. */
export function owningPoolOf(cache: Cache, sandbox: Sandbox): SandboxWarmPool | undefined {
  const owner = controllerOf(sandbox);
  if (owner?.kind !== 'SandboxWarmPool') return undefined;
  const pool = cache.pools.store.get(`${sandbox.metadata.namespace ?? ''}/${owner.name}`);
  return pool?.metadata.uid === owner.uid ? pool : undefined;
}

function poolsOf(cache: Cache, template: SandboxTemplate): string[] {
  return [...cache.pools.store.byIndex(BY_TEMPLATE, keyOf(template))].map(keyOf);
}

/** The status of a template counts its pools and changes with each adoption; a pool needs only the spec and Accepted. */
function isRelevantTemplate({ old, next }: Change<SandboxTemplate>): boolean {
  const accepted = (template: SandboxTemplate | undefined): string =>
    findCondition(template?.status?.conditions, templateConditions.accepted)?.status ?? '';
  const same = old?.metadata.uid === next?.metadata.uid && old?.metadata.generation === next?.metadata.generation;
  return !same || accepted(old) !== accepted(next);
}
