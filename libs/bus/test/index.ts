import { connect } from '@nats-io/transport-node';
import type { Bus } from '../src/bus.ts';
import type { ActivityReport } from '../src/reports/activity.ts';
import { formatInboxPrefix } from '../src/events/subjects.ts';
import { openSession } from '../src/streams/ledger.ts';
import { RevisionError } from '../src/streams/bucket.ts';
import type { Bucket, BucketEntry } from '../src/streams/bucket.ts';
import type { Ledger, Session } from '../src/streams/ledger.ts';
import type { EventType } from '../src/events/catalogue.ts';
import type { CloudEvent, OutgoingEvent } from '../src/events/cloudevent.ts';
import { parseCloudEvent, toCloudEvent } from '../src/events/cloudevent.ts';
import type { SpendingReport } from '../src/reports/spending.ts';

/** A session of one NATS user, for tests of its permissions. */
export async function readSession(
  servers: string,
  {
    user,
    pass,
    tls,
  }: { readonly user: string; readonly pass: string; readonly tls?: { readonly ca: string } | undefined },
): Promise<Session & AsyncDisposable> {
  const connection = await connect({
    servers,
    user,
    pass,
    inboxPrefix: formatInboxPrefix(user),
    ...(tls === undefined ? {} : { tls }),
  });
  const session = await openSession(connection, 1_000);
  return { ...session, [Symbol.asyncDispose]: () => connection.close() };
}

/** An in-process bus for tests of published events and of reactions to hints. */
export interface MemoryBus extends Bus {
  /** Every event once, in the order of publishing; events with one id count once. */
  readonly published: readonly OutgoingEvent[];
  /** Types of the published events. */
  readonly types: readonly EventType[];
  /** Every report of activity, in order. */
  readonly reports: readonly ActivityReport[];
}

/** An in-process ledger. */
export function memoryLedger(): Ledger {
  const texts = new Map<string, string>();
  return {
    readIdentity: async () => ({ stream: 'memory', bucket: 'memory' }),
    read: async () => new Map(texts),
    write: async (key, text) => void texts.set(key, text),
    remove: async (key) => void texts.delete(key),
  };
}

/** An in-process bucket. */
export function memoryBucket(): Bucket {
  const entries = new Map<string, BucketEntry>();
  let last = 0;
  const isMatch = (key: string, filter: string): boolean => {
    const pattern = filter.replaceAll('.', '\\.').replaceAll('*', '[^.]+').replace(/>$/, '.+');
    return new RegExp(`^${pattern}$`).test(key);
  };
  return {
    readIdentity: async () => ({ stream: 'memory', bucket: 'memory' }),
    readStreamEnd: async () => 0,
    list: async (filter) => [...entries.keys()].filter((key) => isMatch(key, filter)),
    read: async (keys) => keys.flatMap((key) => entries.get(key) ?? []),
    write: async (entry) => {
      const { revision = 0 } = entries.get(entry.key) ?? {};
      if (revision !== entry.revision) throw new RevisionError(`${entry.key} has revision ${revision}`);
      last += 1;
      entries.set(entry.key, { ...entry, revision: last });
      return last;
    },
    remove: async (filter) => {
      for (const key of [...entries.keys()]) if (isMatch(key, filter)) entries.delete(key);
    },
  };
}

interface Listener {
  readonly type: EventType;
  deliver(json: string): void;
}

function memoryChannel<T>() {
  const reports: T[] = [];
  const handlers = new Set<(report: T) => void>();
  return {
    reports,
    send: (report: T): void => {
      reports.push(report);
      setImmediate(() => {
        for (const handler of handlers) handler(report);
      });
    },
    on: (handler: (report: T) => void): Disposable => {
      handlers.add(handler);
      return { [Symbol.dispose]: () => handlers.delete(handler) };
    },
  };
}

function memoryReports() {
  const activity = memoryChannel<ActivityReport>();
  const spending = memoryChannel<SpendingReport>();
  return {
    reports: activity.reports,
    reportActivity: activity.send,
    onActivity: activity.on,
    reportSpending: spending.send,
    onSpending: spending.on,
  };
}

/** Creates one for each name. */
function createOnce<T>(create: () => T): (name: string) => T {
  const created = new Map<string, T>();
  return (name) => {
    const known = created.get(name) ?? create();
    created.set(name, known);
    return known;
  };
}

/** Creates an in-process bus. Events reach hint handlers in a later turn, after the same parser as on the wire. */
export function memoryBus(): MemoryBus {
  const published = new Map<string, OutgoingEvent>();
  const listeners = new Set<Listener>();
  const present = new Set<string>();
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    get published() {
      return [...published.values()];
    },
    get types() {
      return [...published.values()].map((event) => event.type);
    },
    ...memoryReports(),
    publish<T extends EventType>(event: OutgoingEvent<T>): void {
      if (published.has(event.id)) return;
      published.set(event.id, event);
      const json = JSON.stringify(toCloudEvent(event));
      setImmediate(() => {
        for (const listener of listeners) if (listener.type === event.type) listener.deliver(json);
      });
    },
    async send(event) {
      this.publish(event);
    },
    sendOnce(event) {
      this.publish(event);
    },
    openBucket: createOnce(memoryBucket),
    openLedger: createOnce(memoryLedger),
    readDeadLetters: async () => ({ messages: 0, oldestMs: 0 }),
    consume: () => undefined,
    follow: () => undefined,
    openHistory: () => undefined,
    onHint<T extends EventType>(type: T, handler: (event: CloudEvent<T>) => void): Disposable {
      const deliver = (json: string): void => {
        const event = parseCloudEvent(type, json);
        if (event !== undefined) handler(event);
      };
      const listener: Listener = { type, deliver };
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
    announce: (name) => {
      present.add(name);
      return { [Symbol.dispose]: () => present.delete(name) };
    },
    isAbsent: (name) => settled().then(() => !present.has(name)),
    isConnected: () => true,
    countDisconnections: () => 0,
    ensureStreams: settled,
    flush: settled,
    close: settled,
  };
}
