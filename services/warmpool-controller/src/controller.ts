import { createCurrencyTest } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { createEventRecorder, createExpectations, createOwnWrites } from '@sandlot/kube';
import { pacing } from '@sandlot/pacing';
import { keepDeadlines, openOutboxes } from '@sandlot/service';
import type { ControllerParts, ServedNamespaces } from '@sandlot/service';
import { UNSEEN_LIMIT_MS } from './decide.ts';
import { PoolHistories } from './history/pool-histories.ts';
import { reconcilePool } from './reconcile.ts';
import { Timetable } from './sizing/timetable.ts';
import { StatusPace } from './status/status-pace.ts';
import { listPoolFacts, templateFacts } from './telemetry/lifecycle-events.ts';
import { createCache, formatTemplateKey } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';
import { listDeadlines } from './wiring/deadlines.ts';
import { connectPoolMetrics } from './wiring/pool-metrics.ts';
import { createHintSource, createWatchSources } from './wiring/sources.ts';
import { endExpectations, recordAdoptions } from './wiring/watch-members.ts';

export interface WarmPoolControllerOptions {
  readonly podDefaults: PodDefaults;
  readonly concurrency: number;
  /** Members of one pool that may be starting at once, for a pool without `refill.maxInFlight`. */
  readonly maxInFlight?: number | undefined;
  readonly namespaces: ServedNamespaces;
  /** Whether this installation can save memory, so that templates may have golden snapshots. Default: no. */
  readonly snapshotsEnabled?: boolean | undefined;
}

/** Adds the controller of pools to the manager. The cache is for the controllers of templates too. */
export function addWarmPoolController(
  parts: ControllerParts,
  { podDefaults, concurrency, maxInFlight, namespaces, snapshotsEnabled }: WarmPoolControllerOptions,
): { readonly cache: Cache; close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, instance, kubeMetrics } = parts;
  const monotonic = (): number => clock.monotonic();
  const shared = { client, clock, random, log, metrics: kubeMetrics };
  const cache = createCache({ ...shared, namespaces, snapshotsEnabled });
  const expectations = createExpectations({ clock, metrics: kubeMetrics, ttlMs: UNSEEN_LIMIT_MS });
  const pools = createOwnWrites({ informer: cache.pools, clock, keepMs: UNSEEN_LIMIT_MS });
  const histories = new PoolHistories({ monotonic, random });
  const metrics = connectPoolMetrics(parts, cache);
  const recorder = createEventRecorder({ ...shared, controller: 'sandlot.dev/warmpool-controller', instance });
  endExpectations(cache, expectations);
  recordAdoptions(cache, histories);
  const { hints, subscription } = createHintSource(bus);
  const outboxes = openPoolOutboxes(parts, cache);
  const timetable = new Timetable();
  const deadlines = keepDeadlines(parts, cache.pools, (pool, nowMs) => listDeadlines(pool, nowMs, timetable));
  const deps = {
    client,
    cache,
    pools,
    expectations,
    clock,
    random,
    recorder,
    histories,
    metrics,
    podDefaults,
    timetable,
    maxInFlight,
    isCurrent: createCurrencyTest(podDefaults),
    statusPace: new StatusPace({ intervalMs: pacing.poolStatus.intervalMs, monotonic }),
  };
  manager.add({
    name: 'warmpool',
    concurrency,
    sources: [hints, deadlines.source, ...createWatchSources(cache)],
    reconcile: (key, context) => deadlines.pass(key, () => reconcilePool(deps, key, context)),
  });
  return {
    cache,
    close: async () => {
      subscription[Symbol.dispose]();
      pools[Symbol.dispose]();
      await Promise.all([recorder.flush(), deadlines.close(), ...outboxes.map((one) => one[Symbol.asyncDispose]())]);
    },
  };
}

/** Publish the events of pools and of templates on the bus. */
function openPoolOutboxes(parts: ControllerParts, { pools, templates }: Cache): readonly AsyncDisposable[] {
  const open = openOutboxes(parts);
  const ofPool = listPoolFacts((pool) => templates.store.get(formatTemplateKey(pool)));
  return [
    open({ kind: 'pool', informer: pools, ...ofPool }),
    open({ kind: 'template', informer: templates, ...templateFacts }),
  ];
}
