import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { blueprintHashOf, blueprintOf, makesSameSandbox } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import type { Expectations } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';
import { BY_CONTROLLER, BY_FORMER_POOL, templateKeyOf } from './cache.ts';
import type { Cache } from './cache.ts';
import type { Member, PoolSnapshot } from './snapshot.ts';

export interface ObserveDeps {
  readonly cache: Cache;
  readonly expectations: Expectations;
  readonly podDefaults: PodDefaults;
  readonly nowMs: () => number;
}

/** One moment's view of a pool, from memory alone. */
export function observe({ cache, expectations, podDefaults, nowMs }: ObserveDeps, pool: SandboxWarmPool): PoolSnapshot {
  const template = cache.templates.store.get(templateKeyOf(pool));
  const isCurrent = currency(template, podDefaults);
  const members: Member[] = [];
  let terminating = 0;
  for (const sandbox of cache.sandboxes.store.byIndex(BY_CONTROLLER, pool.metadata.uid ?? '')) {
    if (!isMember(sandbox, pool)) continue;
    if (sandbox.metadata.deletionTimestamp === undefined) members.push({ sandbox, current: isCurrent(sandbox) });
    else terminating += 1;
  }
  const pending = expectations.pending(keyOf(pool));
  const { namespace = '', name = '' } = pool.metadata;
  return {
    pool,
    template,
    templateHash: template === undefined ? undefined : blueprintHashOf(template, podDefaults),
    members,
    terminating,
    unseenCreates: pending.creates,
    unseenDeletes: pending.deleteIds,
    inUse: cache.sandboxes.store.countIndex(BY_FORMER_POOL, `${namespace}/${nameHash(name)}`),
    nowMs: nowMs(),
  };
}

/** The UID proves ownership; the label only says that it was meant as a member. */
function isMember({ metadata }: Sandbox, pool: SandboxWarmPool): boolean {
  return metadata.labels?.[labels.warmPoolMember] === nameHash(pool.metadata.name ?? '');
}

/** Equal hashes settle it; members hashed by another writer are compared by meaning (API contract, staleness). */
function currency(template: SandboxTemplate | undefined, defaults: PodDefaults): (sandbox: Sandbox) => boolean {
  if (template === undefined) return () => false;
  const hash = blueprintHashOf(template, defaults);
  const refHash = nameHash(template.metadata.name ?? '');
  const blueprint = blueprintOf(template, defaults);
  return (sandbox) =>
    sandbox.metadata.labels?.[labels.templateRefHash] === refHash &&
    (sandbox.metadata.labels[labels.templateHash] === hash || makesSameSandbox(sandbox, blueprint));
}
