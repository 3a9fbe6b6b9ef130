import { DeadlineKeeper, purposes } from '@sandlot/jobs';
import type { Deadline } from '@sandlot/jobs';
import { createChannelSource, findShard, getKey } from '@sandlot/kube';
import type { ControllerOptions, Informer, KubeObject, Source } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import { carrier, createDeadlineMetrics } from '@sandlot/telemetry';
import type { ControllerParts, DeadlinePlace } from './controller-parts.ts';
import { readRedisAddress } from './redis-address.ts';
import type { ControllerSettings } from './settings.ts';

/** Connects to Redis if the settings name one. Only then it loads the Redis client, which takes 25 MB of memory. */
export async function openDeadlines(name: string, settings: ControllerSettings, log: Logger): Promise<DeadlinePlace> {
  const { REDIS_PREFIX, DEADLINE_AUDIT_INTERVAL: auditEveryMs } = settings;
  const address = readRedisAddress(settings);
  if (address === undefined) return { store: undefined, auditEveryMs };
  const { connectDeadlineStore } = await import('@sandlot/jobs/store');
  const target = { ...address, log };
  const { SHARDS } = settings;
  if (SHARDS === 1) return { store: connectDeadlineStore({ ...target, prefix: REDIS_PREFIX, name }), auditEveryMs };
  // A queue for each shard, because any worker of a queue may get its jobs. The keys stay among those of the controller.
  const shardStores = Array.from({ length: SHARDS }, (_, shard) =>
    connectDeadlineStore({ ...target, prefix: `${REDIS_PREFIX}:${name}`, name: `shard-${shard}` }),
  );
  return { store: undefined, shardStores, auditEveryMs };
}

/** `shardBy` is that of the controller. */
export type DeadlineParts = ControllerParts & Pick<ControllerOptions, 'shardBy'>;

export interface KeptDeadlines {
  /** Adds the keys of due deadlines to the queue of the objects' controller. */
  readonly source: Source;
  /** Wraps a pass of that controller. */
  pass<R>(key: string, run: () => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

/**
 * The leader stores the deadlines of an informer's objects in Redis, in addition to the timers of the queue.
 * `deadlinesOf` is called for every change and must agree with the decisions of the controller.
 */
export function keepDeadlines<T extends KubeObject>(
  { manager, clock, log, registry, deadlines, shardBy }: DeadlineParts,
  informer: Informer<T>,
  deadlinesOf: (object: T, nowMs: number) => readonly Deadline[],
): KeptDeadlines {
  const { shards } = manager;
  const getShard = (key: string): number => findShard(shardBy?.(key) ?? key, shards);
  const due = createChannelSource();
  const deadlinesOfKey = (key: string, nowMs: number): readonly Deadline[] => {
    const object = informer.store.get(key);
    return object === undefined ? NONE : addTraces(object, deadlinesOf(object, nowMs));
  };
  const metrics = createDeadlineMetrics(registry, purposes);
  const pending: Pending[] = [];
  metrics.watchPending(() => sumPending(pending.map((sample) => sample())));
  const keepers = Array.from(
    { length: shards },
    (_, shard) =>
      new DeadlineKeeper({
        auditEveryMs: deadlines.auditEveryMs,
        store: deadlines.shardStores?.[shard] ?? deadlines.store,
        source: {
          listDeadlines: deadlinesOfKey,
          listKeys: () => [...informer.store.values()].map(getKey).filter((key) => getShard(key) === shard),
        },
        queue: (key) => due.push(key, { priority: DUE_PRIORITY }),
        isLeader: () => manager.holdsShard(shard),
        clock,
        log,
        metrics: { ...metrics, watchPending: (sample) => void pending.push(sample) },
      }),
  );
  informer.onChange(({ key }) => keepers[getShard(key)]?.update(key));
  return {
    source: due,
    pass: (key, run) => keepers[getShard(key)]?.pass(key, run) ?? run(),
    close: async () => {
      await Promise.all(keepers.map((keeper) => keeper.close()));
    },
  };
}

type Pending = () => { readonly redis: number; readonly timer: number };

function sumPending(samples: readonly ReturnType<Pending>[]): ReturnType<Pending> {
  const sum = { redis: 0, timer: 0 };
  for (const { redis, timer } of samples) {
    sum.redis += redis;
    sum.timer += timer;
  }
  return sum;
}

const NONE: readonly Deadline[] = [];

/** A due deadline has the same priority as a watch event. */
const DUE_PRIORITY = 0;

function addTraces({ metadata }: KubeObject, deadlines: readonly Deadline[]): readonly Deadline[] {
  const trace = deadlines.length === 0 ? undefined : metadata.annotations?.[carrier.annotation];
  return trace === undefined ? deadlines : deadlines.map((deadline) => ({ ...deadline, trace }));
}
