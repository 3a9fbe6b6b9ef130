// Brings the entries of days up to date, lets records of ended Sandboxes go, and closes old days.
import type { Bucket } from '@sandlot/bus';
import {
  addAmounts,
  DAY_MS,
  EMPTY_DAY,
  formatDay,
  getStartOfDay,
  listDays,
  NOTHING,
  parseDayEntry,
  parseEntryKey,
  sumUsage,
} from '@sandlot/usage';
import type { Amounts, Day, DayEntry } from '@sandlot/usage';
import type { Books, KeptRecord, Now } from './books.ts';
import { findEndMs, findStartMs } from './record.ts';
import { getDays, KEPT_DAYS, removeRecord, writeDay, writeSum } from './store.ts';
import { countDay, countEnded, RECOUNT_MS } from './totals.ts';
import type { DayInput } from './totals.ts';

/** Events of a day may come for as long as the stream keeps them; then it is closed. */
const OPEN_DAYS = 8;
/** How long a record stays after the last event about it: the reading of that event is written by then. */
const SETTLED_MS = 60_000;
/** How long points of concurrency and starts are kept: longer than an answer may go back. */
const POINTS_DAYS = 40;
/** Records that go at a time. */
const MOST_ENDED = 500;

export interface CountDeps {
  readonly bucket: Bucket;
  readonly books: Books;
  readonly now: Now;
}

/** One namespace. Its entries are written one after the other, each right by itself. */
export async function countNamespace(deps: CountDeps, namespace: string): Promise<void> {
  const { bucket, books, now } = deps;
  const today = formatDay(now.wallMs);
  // The last count of a day is made after its end.
  const isLate = books.late.delete(namespace) || books.countedDays.get(namespace) !== today;
  try {
    const openMs = books.getOpenMs(namespace);
    const firstMs = isLate ? Math.max(openMs, findFirstMs(deps, namespace)) : now.wallMs;
    for (const day of listDays(Math.min(firstMs, now.wallMs), now.wallMs)) {
      const input = buildInput(deps, namespace, day);
      const value = countDay(input);
      if (value !== input.before && hasContent(value)) await writeDay(bucket, books, { namespace, day, value });
    }
    books.countedDays.set(namespace, today);
    await dropEnded(deps, namespace);
    await closeDays(deps, namespace);
  } catch (error) {
    if (isLate) books.late.add(namespace);
    throw error;
  }
}

/** The first moment that a record is about. */
function findFirstMs({ books, now }: CountDeps, namespace: string): number {
  const starts = books.listRecords(namespace).map(({ value }) => findStartMs(value) ?? now.wallMs);
  const days = [...(books.days.get(namespace)?.keys() ?? [])].map(getStartOfDay);
  return [...starts, ...days].reduce((first, each) => Math.min(first, each), now.wallMs);
}

function buildInput({ books, now }: CountDeps, namespace: string, day: Day): DayInput {
  return {
    day,
    before: books.days.get(namespace)?.get(day)?.value,
    records: books.listRecords(namespace),
    nowMs: now.wallMs,
    openMs: books.getOpenMs(namespace),
  };
}

function hasContent({
  usage,
  peaks,
  endedUids,
}: {
  usage: object;
  peaks: object;
  endedUids: readonly string[];
}): boolean {
  return Object.keys(usage).length + Object.keys(peaks).length + endedUids.length > 0;
}

/**
 * Lets records go of Sandboxes that ended a while ago. Their part goes into the sums of each day first, and each day names them
 * until they are gone, so that a process that dies at any moment leaves no Sandbox counted twice or not at all.
 */
async function dropEnded(deps: CountDeps, namespace: string): Promise<void> {
  const { bucket, books } = deps;
  const ended = books
    .listRecords(namespace)
    .filter((record) => isOver(record, deps))
    .slice(0, MOST_ENDED);
  if (ended.length === 0) return;
  const counting = ended.filter(({ value }) => findStartMs(value) !== undefined);
  const firstMs = Math.min(...counting.map(({ value }) => findStartMs(value) ?? Infinity));
  const lastMs = Math.max(...counting.map(({ value }) => findEndMs(value) ?? 0));
  const days = counting.length === 0 ? [] : listDays(Math.max(firstMs, books.getOpenMs(namespace)), lastMs);
  for (const day of days) {
    const input = buildInput(deps, namespace, day);
    const value = countEnded(input, counting);
    if (value !== input.before) await writeDay(bucket, books, { namespace, day, value });
  }
  for (const record of ended) await removeRecord(bucket, books, record);
}

function isOver({ value, isDirty, touchedMs }: KeptRecord, { now }: CountDeps): boolean {
  const endMs = findEndMs(value);
  const isSettled = !isDirty && now.monotonicMs - touchedMs >= SETTLED_MS;
  return endMs !== undefined && isSettled && now.wallMs - endMs >= RECOUNT_MS;
}

/** Adds days that no event can change any more to the sum of the namespace, one after the other. */
async function closeDays({ bucket, books, now }: CountDeps, namespace: string): Promise<void> {
  const beforeMs = getStartOfDay(formatDay(now.wallMs - OPEN_DAYS * DAY_MS));
  const old = [...getDays(books, namespace)].filter(([day]) => getStartOfDay(day) < beforeMs);
  for (const [day, { value }] of old.toSorted(([a], [b]) => a.localeCompare(b))) {
    if (!value.isClosed) await writeDay(bucket, books, { namespace, day, value: closeDay(value) });
    const { through = '', amounts = NOTHING } = books.sums.get(namespace)?.value ?? {};
    if (day > through) {
      await writeSum(bucket, books, { namespace, through: day, amounts: addAmounts(amounts, sumUsage(value.usage)) });
    }
    getDays(books, namespace).delete(day);
  }
}

/** What only counts of the day need goes. */
function closeDay(value: DayEntry): DayEntry {
  return { ...value, isClosed: true, ended: EMPTY_DAY.ended, endedUids: [] };
}

/** All usage of a namespace since the ledger began. */
export function sumNamespace(books: Books, namespace: string): Amounts {
  const { through = '', amounts = NOTHING } = books.sums.get(namespace)?.value ?? {};
  const open = [...(books.days.get(namespace) ?? [])].filter(([day]) => day > through);
  return open.reduce((sum, [, { value }]) => addAmounts(sum, sumUsage(value.usage)), amounts);
}

/** Removes what is older than the ledger keeps: days after 400 days, and their points, which take most of the room, after 40. */
export async function dropOldDays({ bucket, now }: Pick<CountDeps, 'bucket' | 'now'>): Promise<void> {
  const getDay = (key: string): Day => parseEntryKey(key).rest;
  const [oldest = '', oldestPoints = ''] = [KEPT_DAYS, POINTS_DAYS].map((days) =>
    formatDay(now.wallMs - days * DAY_MS),
  );
  const keys = await bucket.list('day.>');
  for (const key of keys.filter((each) => getDay(each) < oldest)) await bucket.remove(key);
  const withPoints = keys.filter((each) => getDay(each) >= oldest && getDay(each) < oldestPoints);
  for (const { key, text, revision } of await bucket.read(withPoints)) {
    const value = parseDayEntry(text);
    if (value === undefined || Object.keys({ ...value.peaks, ...value.starts }).length === 0) continue;
    await bucket.write({ key, text: JSON.stringify({ ...value, peaks: {}, starts: {} }), revision });
  }
}
