import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { blueprintHashOf } from '@sandlot/blueprint';
import type { CurrencyTest, PodDefaults } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import type { Expectations } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';
import { BY_CONTROLLER, BY_FORMER_POOL, formerPoolKey, templateKeyOf } from './cache.ts';
import type { Cache } from './cache.ts';
import type { Member, PoolSnapshot } from './snapshot.ts';
import type { StatusWrites } from './status-writes.ts';

export interface ObserveDeps {
  readonly cache: Cache;
  readonly expectations: Expectations;
  readonly podDefaults: PodDefaults;
  readonly isCurrent: CurrencyTest;
  readonly statusWrites: StatusWrites;
  readonly nowMs: () => number;
}

/** One moment's view of a pool, from memory alone. */
export function observe(deps: ObserveDeps, pool: SandboxWarmPool): PoolSnapshot {
  const { cache, expectations, podDefaults, isCurrent, statusWrites, nowMs } = deps;
  const template = cache.templates.store.get(templateKeyOf(pool));
  const members: Member[] = [];
  let terminating = 0;
  for (const sandbox of cache.sandboxes.store.byIndex(BY_CONTROLLER, pool.metadata.uid ?? '')) {
    if (!isMember(sandbox, pool)) continue;
    if (sandbox.metadata.deletionTimestamp !== undefined) terminating += 1;
    else members.push({ sandbox, current: template !== undefined && isCurrent(sandbox, template) });
  }
  const pending = expectations.pending(keyOf(pool));
  return {
    pool,
    template,
    templateHash: template === undefined ? undefined : blueprintHashOf(template, podDefaults),
    members,
    terminating,
    unseenCreates: pending.creates,
    unseenDeletes: pending.deleteIds,
    inUse: cache.sandboxes.store.countIndex(BY_FORMER_POOL, formerPoolKey(pool)),
    lastStatus: statusWrites.last(keyOf(pool)) ?? pool.status,
    nowMs: nowMs(),
  };
}

/** The UID proves ownership; the label only says that it was meant as a member. */
function isMember({ metadata }: Sandbox, pool: SandboxWarmPool): boolean {
  return metadata.labels?.[labels.warmPoolMember] === nameHash(pool.metadata.name ?? '');
}
