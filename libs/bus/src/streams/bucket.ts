import { JetStreamApiError } from '@nats-io/jetstream';
import { readIdentity } from './ledger.ts';
import type { LedgerIdentity, Session } from './ledger.ts';
import { EVENT_STREAM, formatBucketStream, formatBucketSubject } from './streams.ts';

const WRONG_LAST_SEQUENCE = 10_071;
/** Requests in flight for the messages of a bucket. */
const READ_TOGETHER = 256;

/** The entry is not the one that the writer has read: another process has written it since. */
export class RevisionError extends Error {
  override readonly name = 'RevisionError';
  readonly code = 'Revision';
}

export interface BucketEntry {
  /** Tokens of letters, digits, `-` and `_` with dots between them. */
  readonly key: string;
  readonly text: string;
  /** Grows with each write of the entry; 0 for one that is to be new. */
  readonly revision: number;
}

/**
 * Durable texts by key, of which a write names the revision that it replaces: two writers never overwrite each other. A full
 * bucket refuses writes and drops nothing. Every call rejects while the server is away.
 */
export interface Bucket {
  /** Undefined when the event stream or the bucket is missing. */
  readIdentity(): Promise<LedgerIdentity | undefined>;
  /** The last sequence of the event stream. */
  readStreamEnd(): Promise<number>;
  /** The keys that match a filter such as `day.*.20300101`. */
  list(filter: string): Promise<readonly string[]>;
  /** Those of the entries that exist. */
  read(keys: readonly string[]): Promise<readonly BucketEntry[]>;
  /** Resolves to the new revision. Rejects with {@link RevisionError} if the entry has another one than the given. */
  write(entry: BucketEntry): Promise<number>;
  /** Removes the entries that match, without tombstones. */
  remove(filter: string): Promise<void>;
}

/** The bucket of that name; `session` throws while the server is away. */
export function openNatsBucket(bucket: string, session: () => Session): Bucket {
  const stream = formatBucketStream(bucket);
  const prefix = formatBucketSubject(bucket, '').length;
  return {
    readIdentity: async () => readIdentity(session(), bucket),
    readStreamEnd: async () => (await session().manager.streams.info(EVENT_STREAM)).state.last_seq,
    list: async (filter) => {
      const subjects = formatBucketSubject(bucket, filter);
      const { state } = await session().manager.streams.info(stream, { subjects_filter: subjects });
      return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix));
    },
    read: async (keys) => {
      const found: BucketEntry[] = [];
      for (let from = 0; from < keys.length; from += READ_TOGETHER) {
        const some = keys.slice(from, from + READ_TOGETHER).map((key) => readEntry(session(), bucket, key));
        found.push(...(await Promise.all(some)).filter((entry) => entry !== undefined));
      }
      return found;
    },
    write: async ({ key, text, revision }) => {
      const expect = { lastSubjectSequence: revision };
      try {
        return (await session().js.publish(formatBucketSubject(bucket, key), text, { expect })).seq;
      } catch (error) {
        if (!(error instanceof JetStreamApiError) || error.code !== WRONG_LAST_SEQUENCE) throw error;
        throw new RevisionError(`${key} has another revision than ${revision}`, { cause: error });
      }
    },
    remove: async (filter) => {
      await session().manager.streams.purge(stream, { filter: formatBucketSubject(bucket, filter) });
    },
  };
}

async function readEntry({ manager }: Session, bucket: string, key: string): Promise<BucketEntry | undefined> {
  const stream = formatBucketStream(bucket);
  // By request, and not through a consumer: read-messages.ts says why.
  const message = await manager.streams.getMessage(stream, { last_by_subj: formatBucketSubject(bucket, key) });
  return message === null ? undefined : { key, text: message.string(), revision: message.seq };
}
