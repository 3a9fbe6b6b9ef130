// What the watch of Sandboxes records beside enqueueing pools.
import type { Sandbox } from '@sandlot/api-types';
import { findController } from '@sandlot/kube/objects';
import type { Expectations } from '@sandlot/kube';
import type { PoolHistories } from '../history/pool-histories.ts';
import { findFormerPool } from './cache.ts';
import type { Cache } from './cache.ts';
import { findOwningPool, listPoolsOfSandbox } from './sources.ts';

/** Records each adoption: refills pause for adoptions, and autoscaling counts them. */
export function recordAdoptions(cache: Cache, histories: PoolHistories): void {
  cache.sandboxes.onChange(({ old, next }) => {
    if (old === undefined || next === undefined || findFormerPool(next) === undefined) return;
    const pool = findOwningPool(cache, old);
    if (pool !== undefined && findController(next)?.uid !== pool.metadata.uid) histories.recordAdoption(pool);
  });
}

/** Ends the expectation of a create when the member appears, and of a delete when it terminates or has another owner. */
export function endExpectations(cache: Cache, expectations: Expectations): void {
  cache.sandboxes.onChange(({ key, old, next }) => {
    for (const pool of next === undefined ? [] : listPoolsOfSandbox(cache, next)) expectations.observeCreate(pool, key);
    if (old === undefined || !hasLeft(old, next)) return;
    for (const pool of listPoolsOfSandbox(cache, old)) expectations.observeDelete(pool, old.metadata.uid ?? '');
  });
}

function hasLeft(old: Sandbox, next: Sandbox | undefined): boolean {
  const hasOtherOwner = findController(old)?.uid !== (next === undefined ? undefined : findController(next)?.uid);
  return hasOtherOwner || next?.metadata.deletionTimestamp !== undefined;
}
