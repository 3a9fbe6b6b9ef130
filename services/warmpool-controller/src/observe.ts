import { findNetworkGap, formatNetworkPolicyName, isMemberOf } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { getBlueprintHash } from '@sandlot/blueprint';
import type { CurrencyTest, PodDefaults } from '@sandlot/blueprint';
import { getKey } from '@sandlot/kube';
import type { Expectations } from '@sandlot/kube';
import type { Clock, Random } from '@sandlot/std';
import { findBackoff, formatCreationSubject } from './history/creation-backoff.ts';
import { findGolden } from './golden/find-golden.ts';
import type { PoolHistories } from './history/pool-histories.ts';
import type { Member, PoolSnapshot } from './plan/snapshot.ts';
import type { Timetable } from './sizing/timetable.ts';
import type { StatusPace } from './status/status-pace.ts';
import { BY_CONTROLLER, BY_FORMER_POOL, BY_STRAY, formatPoolHashKey, formatTemplateKey } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';

export interface ObserveDeps {
  readonly cache: Cache;
  readonly expectations: Expectations;
  readonly podDefaults: PodDefaults;
  readonly isCurrent: CurrencyTest;
  readonly statusPace: StatusPace;
  readonly histories: PoolHistories;
  readonly timetable: Timetable;
  readonly maxInFlight?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** The state of a pool at one moment, from caches alone: no request. The first pass over a pool starts its history. */
export function observe(deps: ObserveDeps, pool: SandboxWarmPool): PoolSnapshot {
  const { cache, expectations, podDefaults, statusPace, histories, timetable, clock, random } = deps;
  const key = getKey(pool);
  const template = cache.templates.store.get(formatTemplateKey(pool));
  const templateHash = template === undefined ? undefined : getBlueprintHash(template, podDefaults);
  const pending = expectations.getPending(key);
  const [nowMs, monotonicMs] = [clock.now(), clock.monotonic()];
  histories.recordSeen(pool);
  const history = histories.of(pool);
  const backoff = findBackoff(formatCreationSubject({ pool, template, templateHash }), history.backoff, monotonicMs);
  return {
    pool,
    template,
    templateHash,
    golden: template === undefined ? undefined : findGolden(cache, template, templateHash ?? ''),
    networkGap: findTemplateGap(cache, template),
    ...observeMembers(deps, pool, template),
    strays: observeStrays(deps, { pool, template, unseenDeletes: pending.deleteIds }),
    unseenCreates: pending.creates,
    unseenDeletes: pending.deleteIds,
    inUse: cache.sandboxes.store.countIndex(BY_FORMER_POOL, formatPoolHashKey(pool)),
    maxInFlight: deps.maxInFlight,
    windows: timetable.windows(pool.spec.schedules, nowMs),
    history: { ...history, backoff },
    lastStatus: pool.status,
    statusNotBeforeMs: statusPace.nextMs(key),
    nowMs,
    monotonicMs,
    jitter: random(),
  };
}

/** Why no Pod of the template may start yet; undefined without a template, and once its network rules are in place. */
export function findTemplateGap({ policies }: Cache, template: SandboxTemplate | undefined): string | undefined {
  if (template === undefined) return undefined;
  const { namespace = '', name = '' } = template.metadata;
  return findNetworkGap(template, policies.store.get(`${namespace}/${formatNetworkPolicyName(name)}`));
}

function observeMembers(
  { cache, isCurrent }: ObserveDeps,
  pool: SandboxWarmPool,
  template: SandboxTemplate | undefined,
): Pick<PoolSnapshot, 'members' | 'terminating'> {
  const members: Member[] = [];
  let terminating = 0;
  for (const sandbox of cache.sandboxes.store.listByIndex(BY_CONTROLLER, pool.metadata.uid ?? '')) {
    if (!isMemberOf(sandbox, pool)) continue;
    if (sandbox.metadata.deletionTimestamp !== undefined) terminating += 1;
    else members.push({ sandbox, current: template !== undefined && isCurrent(sandbox, template) });
  }
  return { members, terminating };
}

type StrayInput = Pick<PoolSnapshot, 'pool' | 'template' | 'unseenDeletes'>;

function observeStrays(
  { cache, isCurrent }: ObserveDeps,
  { pool, template, unseenDeletes }: StrayInput,
): readonly Member[] {
  return [...cache.sandboxes.store.listByIndex(BY_STRAY, formatPoolHashKey(pool))]
    .filter(({ metadata }) => !unseenDeletes.has(metadata.uid ?? ''))
    .map((sandbox) => ({ sandbox, current: template !== undefined && isCurrent(sandbox, template) }));
}
