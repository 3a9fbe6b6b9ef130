import { readFileSync } from 'node:fs';
import { DeadlineKeeper, purposes } from '@sandlot/jobs';
import type { Deadline } from '@sandlot/jobs';
import { channelSource, keyOf } from '@sandlot/kube';
import type { Informer, KubeObject, Source } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import { carrier, createDeadlineMetrics } from '@sandlot/telemetry';
import type { ControllerParts, DeadlinePlace } from './controller-parts.ts';
import type { ControllerSettings } from './settings.ts';

/** A connection to Redis, when there is one by the settings; its client, 25 MB in memory, is loaded only then. */
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
  /** Keys whose deadline has come, for the controller of the objects. */
  readonly source: Source;
  /** Runs a pass of that controller. */
  pass<R>(key: string, run: () => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

/**
 * Keeps the deadlines of an informer's objects in Redis, on the leader, besides the timers of the queue. `deadlinesOf` must
 * say what the decisions say; it is called for every change.
 */
export function keepDeadlines<T extends KubeObject>(
  { manager, clock, log, registry, deadlines }: ControllerParts,
  informer: Informer<T>,
  deadlinesOf: (object: T, nowMs: number) => readonly Deadline[],
): KeptDeadlines {
  const due = channelSource();
  const of = (key: string, nowMs: number): readonly Deadline[] => {
    const object = informer.store.get(key);
    return object === undefined ? NONE : withTraces(object, deadlinesOf(object, nowMs));
  };
  const keeper = new DeadlineKeeper({
    ...deadlines,
    source: { of, keys: () => [...informer.store.values()].map(keyOf) },
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

/** The priority of a change: a due deadline is as urgent as a watch event. */
const DUE_PRIORITY = 0;

function withTraces({ metadata }: KubeObject, deadlines: readonly Deadline[]): readonly Deadline[] {
  const trace = deadlines.length === 0 ? undefined : metadata.annotations?.[carrier.annotation];
  return trace === undefined ? deadlines : deadlines.map((deadline) => ({ ...deadline, trace }));
}
