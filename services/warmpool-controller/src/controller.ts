import { findCondition, templateConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { createCurrencyTest } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import type { Bus } from '@sandlot/bus';
import {
  channelSource,
  controllerOf,
  createEventRecorder,
  createExpectations,
  keyOf,
  watchSource,
} from '@sandlot/kube';
import type { Change, Expectations } from '@sandlot/kube';
import { keepDeadlines, openOutboxes } from '@sandlot/service';
import type { ControllerParts } from '@sandlot/service';
import { BY_HASH, BY_TEMPLATE, createCache, formerPoolOf, strayOf, templateKeyOf } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';
import { concernsPool, GATHER_MS, gatherMs } from './wiring/sandbox-changes.ts';
import { deadlinesOf } from './wiring/deadlines.ts';
import { UNSEEN_LIMIT_MS } from './decide.ts';
import { poolTelling, templateTelling } from './telemetry/lifecycle-events.ts';
import { PoolMemory } from './history/history.ts';
import { measuredPools } from './telemetry/measure.ts';
import { reconcilePool } from './reconcile.ts';
import { Timetable } from './sizing/schedule.ts';
import { StatusWrites } from './status/status-writes.ts';

export interface WarmPoolControllerOptions {
  readonly podDefaults: PodDefaults;
  readonly concurrency: number;
  /** Members of one pool that may be starting at once where the pool does not say. */
  readonly maxInFlight?: number | undefined;
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
}

/** Wires the warmpool-controller into a manager. */
export function addWarmPoolController(
  parts: ControllerParts,
  { podDefaults, concurrency, maxInFlight, namespace }: WarmPoolControllerOptions,
): { readonly cache: Cache; close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, instance, kubeMetrics } = parts;
  const monotonic = (): number => clock.monotonic();
  const shared = { client, clock, random, log, metrics: kubeMetrics };
  const cache = createCache({ ...shared, namespace });
  const expectations = createExpectations({ clock, metrics: kubeMetrics, ttlMs: UNSEEN_LIMIT_MS });
  const memory = new PoolMemory({ monotonic, random });
  const metrics = measuredPools(parts, cache);
  const recorder = createEventRecorder({ ...shared, controller: 'sandlot.dev/warmpool-controller', instance });
  fulfilExpectations(cache, expectations);
  noteAdoptions(cache, memory);
  const { hints, subscription } = hintsOf(bus);
  const outboxes = openBoth(parts, cache);
  const timetable = new Timetable();
  const deadlines = keepDeadlines(parts, cache.pools, (pool, nowMs) => deadlinesOf(pool, nowMs, timetable));
  const deps = {
    client,
    cache,
    expectations,
    clock,
    random,
    recorder,
    memory,
    metrics,
    podDefaults,
    timetable,
    maxInFlight,
    isCurrent: createCurrencyTest(podDefaults),
    statusWrites: new StatusWrites(monotonic),
  };
  manager.add({
    name: 'warmpool',
    concurrency,
    sources: [
      hints,
      deadlines.source,
      watchSource(cache.pools, (pool) => [keyOf(pool)], { priority: 1 }),
      watchSource(cache.sandboxes, (sandbox, change) => (concernsPool(change) ? poolsOfSandbox(cache, sandbox) : []), {
        delayMs: gatherMs,
      }),
      watchSource(cache.templates, (template, change) => (matters(change) ? poolsOfTemplate(cache, template) : [])),
    ],
    reconcile: (key, context) => deadlines.pass(key, () => reconcilePool(deps, key, context)),
  });
  return {
    cache,
    close: async () => {
      subscription[Symbol.dispose]();
      await Promise.all([recorder.flush(), deadlines.close(), ...outboxes.map((one) => one[Symbol.asyncDispose]())]);
    },
  };
}

/** Events of pools and of their templates. */
function openBoth(parts: ControllerParts, { pools, templates }: Cache): readonly AsyncDisposable[] {
  const open = openOutboxes(parts);
  const ofPool = poolTelling((pool) => templates.store.get(templateKeyOf(pool)));
  return [
    open({ kind: 'pool', informer: pools, ...ofPool }),
    open({ kind: 'template', informer: templates, ...templateTelling }),
  ];
}

/** Pools that a claim was just served from. */
function hintsOf(bus: Bus) {
  const hints = channelSource();
  const subscription = bus.onHint('claim.bound', ({ data }) => {
    if (data.pool !== undefined) hints.push(`${data.namespace}/${data.pool}`, { delayMs: GATHER_MS });
  });
  return { hints, subscription };
}

/** The pool that owns a Sandbox, that a claim took it from, or that it was made for. */
function poolsOfSandbox(cache: Cache, sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox);
  if (owner?.kind === 'SandboxWarmPool') return [`${sandbox.metadata.namespace ?? ''}/${owner.name}`];
  const hash = formerPoolOf(sandbox) ?? strayOf(sandbox);
  return hash === undefined ? [] : [...cache.pools.store.byIndex(BY_HASH, hash)].map(keyOf);
}

function poolsOfTemplate(cache: Cache, template: SandboxTemplate): string[] {
  return [...cache.pools.store.byIndex(BY_TEMPLATE, keyOf(template))].map(keyOf);
}

/** The status of a template counts its pools, which changes with every adoption; only its verdict concerns them. */
function matters({ old, next }: Change<SandboxTemplate>): boolean {
  const verdict = (template: SandboxTemplate | undefined): string =>
    findCondition(template?.status?.conditions, templateConditions.accepted)?.status ?? '';
  const same = old?.metadata.uid === next?.metadata.uid && old?.metadata.generation === next?.metadata.generation;
  return !same || verdict(old) !== verdict(next);
}

/** A member that a claim has taken: what refills wait for, and what autoscaling counts. */
function noteAdoptions(cache: Cache, memory: PoolMemory): void {
  cache.sandboxes.onChange(({ old, next }) => {
    if (old === undefined || next === undefined || formerPoolOf(next) === undefined) return;
    const pool = poolOf(cache, old);
    if (pool !== undefined && controllerOf(next)?.uid !== pool.metadata.uid) memory.adopted(pool);
  });
}

function poolOf(cache: Cache, sandbox: Sandbox): SandboxWarmPool | undefined {
  const owner = controllerOf(sandbox);
  if (owner?.kind !== 'SandboxWarmPool') return undefined;
  const pool = cache.pools.store.get(`${sandbox.metadata.namespace ?? ''}/${owner.name}`);
  return pool?.metadata.uid === owner.uid ? pool : undefined;
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
