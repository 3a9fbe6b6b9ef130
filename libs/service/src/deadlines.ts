import { readFileSync } from 'node:fs';
import { DeadlineKeeper, purposes } from '@sandlot/jobs';
import type { Deadline } from '@sandlot/jobs';
import { createChannelSource, getKey } from '@sandlot/kube';
import type { Informer, KubeObject, Source } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import { carrier, createDeadlineMetrics } from '@sandlot/telemetry';
import type { ControllerParts, DeadlinePlace } from './controller-parts.ts';
import type { ControllerSettings } from './settings.ts';

/** Connects to Redis if the settings name one. Only then it loads the Redis client, which takes 25 MB of memory. */
export async function openDeadlines(name: string, settings: ControllerSettings, log: Logger): Promise<DeadlinePlace> {
  const { REDIS_URL, REDIS_USER, REDIS_PASSWORD, REDIS_CA_FILE, REDIS_PREFIX, DEADLINE_AUDIT_INTERVAL } = settings;
  const auditEveryMs = DEADLINE_AUDIT_INTERVAL;
  if (REDIS_URL === undefined) return { store: undefined, auditEveryMs };
  const { connectDeadlineStore } = await import('@sandlot/jobs/store');
  const store = connectDeadlineStore({
    url: REDIS_URL,
    username: REDIS_USER,
    password: REDIS_PASSWORD?.reveal(),
    tls: REDIS_CA_FILE === undefined ? undefined : { ca: readFileSync(REDIS_CA_FILE, 'utf8') },
    prefix: REDIS_PREFIX,
    name,
    log,
  });
  return { store, auditEveryMs };
}

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
  { manager, clock, log, registry, deadlines }: ControllerParts,
  informer: Informer<T>,
  deadlinesOf: (object: T, nowMs: number) => readonly Deadline[],
): KeptDeadlines {
  const due = createChannelSource();
  const deadlinesOfKey = (key: string, nowMs: number): readonly Deadline[] => {
    const object = informer.store.get(key);
    return object === undefined ? NONE : addTraces(object, deadlinesOf(object, nowMs));
  };
  const keeper = new DeadlineKeeper({
    ...deadlines,
    source: { listDeadlines: deadlinesOfKey, listKeys: () => [...informer.store.values()].map(getKey) },
    queue: (key) => due.push(key, { priority: DUE_PRIORITY }),
    isLeader: () => manager.isLeader(),
    clock,
    log,
    metrics: createDeadlineMetrics(registry, purposes),
  });
  informer.onChange(({ key }) => keeper.update(key));
  return { source: due, pass: (key, run) => keeper.pass(key, run), close: () => keeper.close() };
}

const NONE: readonly Deadline[] = [];

/** A due deadline has the same priority as a watch event. */
const DUE_PRIORITY = 0;

function addTraces({ metadata }: KubeObject, deadlines: readonly Deadline[]): readonly Deadline[] {
  const trace = deadlines.length === 0 ? undefined : metadata.annotations?.[carrier.annotation];
  return trace === undefined ? deadlines : deadlines.map((deadline) => ({ ...deadline, trace }));
}
