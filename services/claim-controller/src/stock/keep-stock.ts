import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { createCurrencyTest, lacksDaemon } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { findController, getKey } from '@sandlot/kube';
import type { Change, KubeObject } from '@sandlot/kube';
import { BY_CONTROLLER, BY_TEMPLATE, formatRefKey } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';
import { findCandidate } from './candidates.ts';
import type { Stock } from './stock.ts';

export interface StockKeeperDeps {
  readonly cache: Cache;
  readonly stock: Stock;
  readonly podDefaults: PodDefaults;
}

/**
 * Keeps the stock in step with the watches. Sandboxes, pools and templates may change in any order. The work per event is
 * constant, except that a change of a template's or pool's spec checks each of its members once.
 */
export function keepStock({ cache, stock, podDefaults }: StockKeeperDeps): void {
  const isCurrent = createCurrencyTest(podDefaults);
  const poolsByUid = new Map<string, SandboxWarmPool>();

  const observe = (key: string, sandbox: Sandbox | undefined): void => {
    const pool = poolsByUid.get(sandbox === undefined ? '' : (findController(sandbox)?.uid ?? ''));
    if (sandbox === undefined || pool === undefined) {
      stock.observe(key, undefined);
      return;
    }
    const template = cache.templates.store.get(formatRefKey(pool, pool.spec.sandboxTemplateRef.name));
    const current = template !== undefined && isCurrent(sandbox, template);
    const usable = template === undefined || !lacksDaemon(sandbox, template);
    stock.observe(key, findCandidate({ sandbox, pool, current, usable }));
  };

  const observeMembers = ({ metadata: { uid = '' } }: SandboxWarmPool): void => {
    for (const sandbox of cache.sandboxes.store.listByIndex(BY_CONTROLLER, uid)) observe(getKey(sandbox), sandbox);
  };

  cache.sandboxes.onChange(({ key, next }) => observe(key, next));
  cache.templates.onChange(({ key, old, next }) => {
    if (!changesSpec({ old, next })) return;
    for (const pool of cache.pools.store.listByIndex(BY_TEMPLATE, key)) observeMembers(pool);
  });
  // A pool that is recreated under its name has another UID, and does not own the members of the first one.
  cache.pools.onChange(({ old, next }) => {
    if (old !== undefined) poolsByUid.delete(old.metadata.uid ?? '');
    if (next !== undefined) poolsByUid.set(next.metadata.uid ?? '', next);
    const pool = next ?? old;
    if (pool !== undefined && changesSpec({ old, next })) observeMembers(pool);
  });
}

/** Whether the object is new, gone or has another spec. A pool's status, in contrast, changes with every adoption. */
export function changesSpec({ old, next }: Pick<Change<KubeObject>, 'old' | 'next'>): boolean {
  return old === undefined || next === undefined || old.metadata.generation !== next.metadata.generation;
}
