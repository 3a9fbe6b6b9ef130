import { isMemberOf } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { blueprintHashOf } from '@sandlot/blueprint';
import type { CurrencyTest, PodDefaults } from '@sandlot/blueprint';
import { keyOf } from '@sandlot/kube';
import type { Expectations } from '@sandlot/kube';
import type { Clock, Random } from '@sandlot/std';
import { BY_CONTROLLER, BY_FORMER_POOL, BY_STRAY, poolHashKey, templateKeyOf } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';
import type { PoolMemory } from './history/history.ts';
import { troubleAt } from './history/history.ts';
import type { Timetable } from './sizing/schedule.ts';
import type { Member, PoolSnapshot } from './plan/snapshot.ts';
import type { StatusWrites } from './status/status-writes.ts';
import { subjectOf } from './history/template-problem.ts';

export interface ObserveDeps {
  readonly cache: Cache;
  readonly expectations: Expectations;
  readonly podDefaults: PodDefaults;
  readonly isCurrent: CurrencyTest;
  readonly statusWrites: StatusWrites;
  readonly memory: PoolMemory;
  readonly timetable: Timetable;
  readonly maxInFlight?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** One moment's view of a pool, from memory alone. */
export function observe(deps: ObserveDeps, pool: SandboxWarmPool): PoolSnapshot {
  const { cache, expectations, podDefaults, statusWrites, memory, timetable, clock, random } = deps;
  const template = cache.templates.store.get(templateKeyOf(pool));
  const templateHash = template === undefined ? undefined : blueprintHashOf(template, podDefaults);
  const pending = expectations.pending(keyOf(pool));
  const [nowMs, monotonicMs] = [clock.now(), clock.monotonic()];
  const recollection = memory.of(pool);
  const trouble = troubleAt(recollection, subjectOf({ pool, template, templateHash }), monotonicMs);
  return {
    pool,
    template,
    templateHash,
    ...membersOf(deps, pool, template),
    strays: straysOf(deps, pool, template),
    unseenCreates: pending.creates,
    unseenDeletes: pending.deleteIds,
    inUse: cache.sandboxes.store.countIndex(BY_FORMER_POOL, poolHashKey(pool)),
    maxInFlight: deps.maxInFlight,
    windows: timetable.windows(pool.spec.schedules, nowMs),
    memory: { ...recollection, trouble },
    lastStatus: statusWrites.last(keyOf(pool)) ?? pool.status,
    nowMs,
    monotonicMs,
    jitter: random(),
  };
}

function membersOf(
  { cache, isCurrent }: ObserveDeps,
  pool: SandboxWarmPool,
  template: SandboxTemplate | undefined,
): Pick<PoolSnapshot, 'members' | 'terminating'> {
  const members: Member[] = [];
  let terminating = 0;
  for (const sandbox of cache.sandboxes.store.byIndex(BY_CONTROLLER, pool.metadata.uid ?? '')) {
    if (!isMemberOf(sandbox, pool)) continue;
    if (sandbox.metadata.deletionTimestamp !== undefined) terminating += 1;
    else members.push({ sandbox, current: template !== undefined && isCurrent(sandbox, template) });
  }
  return { members, terminating };
}

function straysOf(
  { cache, isCurrent, expectations }: ObserveDeps,
  pool: SandboxWarmPool,
  template: SandboxTemplate | undefined,
): readonly Member[] {
  const { deleteIds } = expectations.pending(keyOf(pool));
  return [...cache.sandboxes.store.byIndex(BY_STRAY, poolHashKey(pool))]
    .filter(({ metadata }) => !deleteIds.has(metadata.uid ?? ''))
    .map((sandbox) => ({ sandbox, current: template !== undefined && isCurrent(sandbox, template) }));
}
