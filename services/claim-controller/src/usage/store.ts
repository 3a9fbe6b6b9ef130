// Reads the ledger of usage from its bucket, and writes what has changed. A write names the revision that it replaces, so that
// of two processes that both take themselves for the leader one stops.
import { RevisionError } from '@sandlot/bus';
import type { Bucket, BucketEntry } from '@sandlot/bus';
import {
  amounts,
  DAY_MS,
  formatDay,
  formatDayKey,
  formatRecordKey,
  formatSumKey,
  getStartOfDay,
  parseDayEntry,
  parseEntryKey,
  STATE_KEY,
} from '@sandlot/usage';
import type { Day, DayEntry } from '@sandlot/usage';
import { z } from 'zod';
import { Books } from './books.ts';
import type { Kept, KeptRecord, LedgerState, Now, Sum } from './books.ts';
import { usageRecord } from './record.ts';

/** How far back a new ledger counts: as far as events of the stream go by default. */
const FIRST_DAYS = 7;
/** How long days are kept. */
export const KEPT_DAYS = 400;
/** Writes in flight. */
const WRITE_TOGETHER = 64;

const ledgerState = z.object({
  beganMs: z.number(),
  checkedMs: z.number(),
  stream: z.string(),
  sequences: z.record(z.string(), z.number()),
});
const sum = z.object({ through: z.string(), amounts });

/** The text of an entry is not ours: to go on would count the same usage again, or lose it. */
class ForeignEntryError extends Error {
  override readonly name = 'ForeignEntryError';
  readonly code = 'ForeignEntry';
}

/** Reads the ledger; undefined while the stream or the bucket is missing. */
export async function readBooks(bucket: Bucket, now: Now): Promise<Books | undefined> {
  const identity = await bucket.readIdentity();
  if (identity === undefined) return undefined;
  const [state] = await bucket.read([STATE_KEY]);
  const known = state === undefined ? undefined : { value: parse(state, ledgerState), revision: state.revision };
  const books = new Books(keepState(known, { stream: identity.stream, nowMs: now.wallMs }));
  for (const entry of await bucket.read(await bucket.list('sum.>'))) {
    const { namespace } = parseEntryKey(entry.key);
    books.sums.set(namespace, { value: parse(entry, sum), revision: entry.revision });
  }
  for (const entry of await bucket.read(await bucket.list('record.>'))) {
    const { namespace, rest: uid } = parseEntryKey(entry.key);
    const value = parse(entry, usageRecord);
    const { checkedMs } = books.state.value;
    const { revision } = entry;
    const times = { touchedMs: now.monotonicMs, seenMs: checkedMs };
    const record = { namespace, uid, value, revision, isDirty: false, ...times };
    books.put(record);
  }
  await readOpenDays(bucket, books);
  return books;
}

/** Sequences of another stream say nothing about this one, which is read from its beginning. */
function keepState(
  known: Kept<LedgerState> | undefined,
  { stream, nowMs }: { readonly stream: string; readonly nowMs: number },
): Kept<LedgerState> {
  if (known === undefined) {
    const beganMs = getStartOfDay(formatDay(nowMs - FIRST_DAYS * DAY_MS));
    return { value: { beganMs, checkedMs: 0, stream, sequences: {} }, revision: 0 };
  }
  const isSame = known.value.stream === stream;
  return isSame ? known : { ...known, value: { ...known.value, stream, sequences: {} } };
}

async function readOpenDays(bucket: Bucket, books: Books): Promise<void> {
  const keys = (await bucket.list('day.>')).filter((key) => {
    const { namespace, rest: day } = parseEntryKey(key);
    return getStartOfDay(day) >= books.getOpenMs(namespace) - DAY_MS;
  });
  for (const entry of await bucket.read(keys)) {
    const { namespace, rest: day } = parseEntryKey(entry.key);
    const value = parseDayEntry(entry.text);
    if (value === undefined) throw foreignEntry(entry);
    getDays(books, namespace).set(day, { value, revision: entry.revision });
  }
}

/** The days of a namespace, to be read and set. */
export function getDays({ days }: Books, namespace: string): Map<Day, Kept<DayEntry>> {
  const known = days.get(namespace) ?? new Map<Day, Kept<DayEntry>>();
  days.set(namespace, known);
  return known;
}

function parse<T>(entry: BucketEntry, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(entry.text);
  } catch {
    throw foreignEntry(entry);
  }
  const { data, success } = schema.safeParse(value);
  if (!success) throw foreignEntry(entry);
  return data;
}

function foreignEntry({ key }: BucketEntry): ForeignEntryError {
  return new ForeignEntryError(`the entry ${key} of the ledger of usage is not readable; correct or remove it`);
}

/** Writes what has changed of records, and then where the readings go on: a process that dies in between reads the same again. */
export async function writeRecords(bucket: Bucket, books: Books): Promise<void> {
  const state = books.state.value;
  const dirty = [...books.records.values()].filter(({ isDirty }) => isDirty);
  for (let from = 0; from < dirty.length; from += WRITE_TOGETHER) {
    await Promise.all(dirty.slice(from, from + WRITE_TOGETHER).map((record) => writeRecord(bucket, record)));
  }
  if (books.writtenState === state) return;
  await write(bucket, STATE_KEY, { kept: books.state, value: state });
  books.writtenState = state;
}

async function writeRecord(bucket: Bucket, record: KeptRecord): Promise<void> {
  const { value } = record;
  await write(bucket, formatRecordKey(record.namespace, record.uid), { kept: record, value });
  record.isDirty = record.value !== value;
}

export async function writeDay(
  bucket: Bucket,
  books: Books,
  { namespace, day, value }: { readonly namespace: string; readonly day: Day; readonly value: DayEntry },
): Promise<void> {
  const days = getDays(books, namespace);
  const kept = days.get(day) ?? { value, revision: 0 };
  await write(bucket, formatDayKey(namespace, day), { kept, value });
  days.set(day, { value, revision: kept.revision });
}

export async function writeSum(
  bucket: Bucket,
  books: Books,
  entry: Sum & { readonly namespace: string },
): Promise<void> {
  const { namespace, ...value } = entry;
  const kept = books.sums.get(namespace) ?? { value, revision: 0 };
  await write(bucket, formatSumKey(namespace), { kept, value });
  books.sums.set(namespace, { value, revision: kept.revision });
}

export async function removeRecord(bucket: Bucket, books: Books, record: KeptRecord): Promise<void> {
  if (record.revision > 0) await bucket.remove(formatRecordKey(record.namespace, record.uid));
  books.drop(record);
}

interface Writing<T> {
  readonly kept: Kept<T>;
  readonly value: T;
}

/** After a write without an answer, only a read can say which revision is there. */
async function write<T>(bucket: Bucket, key: string, { kept, value }: Writing<T>): Promise<void> {
  const text = JSON.stringify(value);
  try {
    kept.revision = await bucket.write({ key, text, revision: kept.revision });
  } catch (error) {
    const [there] = error instanceof RevisionError ? await bucket.read([key]) : [];
    if (there?.text !== text) throw error;
    kept.revision = there.revision;
  }
}
