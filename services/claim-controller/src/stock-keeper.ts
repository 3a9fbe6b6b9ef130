import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { blueprintHashOf, blueprintOf, makesSameSandbox } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { controllerOf, keyOf } from '@sandlot/kube';
import { BY_CONTROLLER, BY_TEMPLATE, refKey } from './cache.ts';
import type { Cache } from './cache.ts';
import { candidateOf } from './observe.ts';
import type { Stock } from './stock.ts';

export interface StockKeeperDeps {
  readonly cache: Cache;
  readonly stock: Stock;
  readonly podDefaults: PodDefaults;
  /** A candidate of this pool has become available. */
  readonly onArrival: (poolUid: string) => void;
}

/**
 * Keeps the stock in step with the watches: a Sandbox, its pool or its template may change in any order. Work per event is
 * constant but for a template or pool change, which looks at the members of that template once.
 */
export function keepStock({ cache, stock, podDefaults, onArrival }: StockKeeperDeps): void {
  const hashes = new Map<string, string>();
  const poolsByUid = new Map<string, SandboxWarmPool>();

  const isCurrent = (sandbox: Sandbox, pool: SandboxWarmPool): boolean => {
    const templateKey = refKey(pool, pool.spec.sandboxTemplateRef.name);
    const template = cache.templates.store.get(templateKey);
    if (template === undefined) return false;
    const hash = hashes.get(templateKey) ?? blueprintHashOf(template, podDefaults);
    hashes.set(templateKey, hash);
    // Another writer may have hashed the same blueprint differently: only a difference of meaning makes it stale.
    return (
      sandbox.metadata.labels?.[labels.templateHash] === hash ||
      makesSameSandbox(sandbox, blueprintOf(template, podDefaults))
    );
  };

  const observe = (key: string, sandbox: Sandbox | undefined): void => {
    const pool = poolsByUid.get(sandbox === undefined ? '' : (controllerOf(sandbox)?.uid ?? ''));
    if (sandbox === undefined || pool === undefined) {
      stock.observe(key, undefined);
      return;
    }
    const before = stock.available(pool.metadata.uid ?? '');
    stock.observe(key, candidateOf({ sandbox, pool, current: isCurrent(sandbox, pool) }));
    if (stock.available(pool.metadata.uid ?? '') > before) onArrival(pool.metadata.uid ?? '');
  };

  const observeMembers = (poolUid: string): void => {
    for (const sandbox of cache.sandboxes.store.byIndex(BY_CONTROLLER, poolUid)) observe(keyOf(sandbox), sandbox);
  };

  const onTemplate = (key: string, template: SandboxTemplate | undefined): void => {
    if (template === undefined) hashes.delete(key);
    else hashes.set(key, blueprintHashOf(template, podDefaults));
    for (const pool of cache.pools.store.byIndex(BY_TEMPLATE, key)) observeMembers(pool.metadata.uid ?? '');
  };

  cache.sandboxes.onChange(({ key, next }) => observe(key, next));
  cache.templates.onChange(({ key, next }) => onTemplate(key, next));
  cache.pools.onChange(({ old, next }) => {
    // A pool of the same name with another UID is another pool: the members of the first are not its own.
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (old !== undefined && old.metadata.uid !== uid) poolsByUid.delete(old.metadata.uid ?? '');
    if (next === undefined) poolsByUid.delete(uid);
    else poolsByUid.set(uid, next);
    observeMembers(uid);
  });
}
