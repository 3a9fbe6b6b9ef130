import { JetStreamApiError, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { AcknowledgedSender } from '../publish/acknowledged-sender.ts';
import { EVENT_STREAM, formatBucketStream, formatBucketSubject } from './streams.ts';

const STREAM_NOT_FOUND = 10_059;
/** Requests in flight for the messages of a ledger. */
const READ_TOGETHER = 256;

/** Creation times of stream and bucket. Another value means that their earlier content is lost. */
export interface LedgerIdentity {
  readonly stream: string;
  readonly bucket: string;
}

/**
 * A durable record of texts by key beside the event stream, which one service writes. Every call rejects while the
 * server is away. Keys are letters, digits, `-` and `_`.
 */
export interface Ledger {
  /** Undefined when the event stream or the bucket is missing. */
  readIdentity(): Promise<LedgerIdentity | undefined>;
  read(): Promise<Map<string, string>>;
  /** Resolves when the server has stored it. */
  write(key: string, text: string): Promise<void>;
  /** Removes the key without a tombstone. */
  remove(key: string): Promise<void>;
}

/** One connection and its clients, which every message shares. */
export interface Session {
  readonly connection: NatsConnection;
  readonly js: JetStreamClient;
  readonly manager: JetStreamManager;
}

export async function openSession(connection: NatsConnection, timeoutMs: number): Promise<Session> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: timeoutMs });
  return { connection, js: jetstream(connection, { timeout: timeoutMs }), manager };
}

/** The ledger in the bucket of that name; `session` and `sender` throw while the server is away. */
export function openNatsLedger(bucket: string, session: () => Session, sender: () => AcknowledgedSender): Ledger {
  const stream = formatBucketStream(bucket);
  return {
    readIdentity: async () => readIdentity(session(), bucket),
    read: async () => readAll(session(), stream, formatBucketSubject(bucket, '').length),
    write: async (key, text) => {
      await sender().send({ subject: formatBucketSubject(bucket, key), body: text });
    },
    remove: async (key) => {
      await session().manager.streams.purge(stream, { filter: formatBucketSubject(bucket, key) });
    },
  };
}

/** Undefined when the event stream or the bucket of that name is missing. */
export async function readIdentity({ manager }: Session, bucket: string): Promise<LedgerIdentity | undefined> {
  const [events, records] = await Promise.all([
    readCreationTime(manager, EVENT_STREAM),
    readCreationTime(manager, formatBucketStream(bucket)),
  ]);
  return events === undefined || records === undefined ? undefined : { stream: events, bucket: records };
}

async function readCreationTime(manager: JetStreamManager, stream: string): Promise<string | undefined> {
  try {
    return (await manager.streams.info(stream)).created;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

async function readAll({ manager }: Session, stream: string, prefix: number): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const { state } = await manager.streams.info(stream, { subjects_filter: '>' });
  const subjects = Object.keys(state.subjects ?? {});
  for (let from = 0; from < subjects.length; from += READ_TOGETHER) {
    const some = subjects.slice(from, from + READ_TOGETHER);
    // By request, and not through a consumer: read-messages.ts says why.
    const messages = await Promise.all(
      some.map((subject) => manager.streams.getMessage(stream, { last_by_subj: subject })),
    );
    for (const message of messages) {
      // Absent: removed since. Other key-value clients leave a tombstone for a deleted key; this ledger removes it.
      if (message === null || message.header.has('KV-Operation')) continue;
      found.set(message.subject.slice(prefix), message.string());
    }
  }
  return found;
}
