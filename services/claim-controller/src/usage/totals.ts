// From records to the entry of a day. Pure.
import { addAmounts, BUCKET_MS, DAY_MS, EMPTY_DAY, getStartOfDay, NOTHING } from '@sandlot/usage';
import type { Amounts, Day, DayEntry, Span } from '@sandlot/usage';
import { computeRunMs, computeUsage, findStartMs, listSpans } from './record.ts';
import type { UsageRecord } from './record.ts';

export interface Recorded {
  readonly uid: string;
  readonly value: UsageRecord;
}

/** What the entry of a day is made from. */
export interface DayInput {
  readonly day: Day;
  readonly before: DayEntry | undefined;
  /** All of the namespace. */
  readonly records: readonly Recorded[];
  readonly nowMs: number;
  /** Nothing before it counts. */
  readonly openMs: number;
}

/** API keys with a sum of their own on a day; the usage of further ones goes to no key, so that an entry keeps its bounds. */
const MOST_KEYS = 2_000;
/** How far back counts of concurrency are made anew: records of Sandboxes that have ended stay for as long. */
export const RECOUNT_MS = 3 * BUCKET_MS;

/** The entry with what runs, and what has run, up to now. The same object if it does not change. */
export function countDay(input: DayInput): DayEntry {
  const { before = EMPTY_DAY, records } = input;
  if (before.isClosed) return before;
  const counted = new Set(before.endedUids);
  const live = records.filter(({ uid }) => !counted.has(uid));
  const part = countPart(input, live);
  const next: DayEntry = {
    ...before,
    asOfMs: Math.min(input.nowMs, getStartOfDay(input.day) + DAY_MS),
    usage: addUsage(before.ended.usage, part.usage),
    starts: addCounts(before.ended.starts, part.starts),
    peaks: maxCounts(before.peaks, countPeaks(input, records)),
  };
  return isSame(before, next) ? before : next;
}

/** The entry after these Sandboxes, which have ended, have become part of its sums. Their records may go then. */
export function countEnded(input: DayInput, ended: readonly Recorded[]): DayEntry {
  const { before = EMPTY_DAY, records } = input;
  if (before.isClosed) return before;
  const counted = new Set(before.endedUids);
  const news = ended.filter(({ uid }) => !counted.has(uid));
  const part = countPart(input, news);
  const known = new Set(records.map(({ uid }) => uid));
  const next = {
    ...before,
    ended: {
      usage: addUsage(before.ended.usage, part.usage),
      starts: addCounts(before.ended.starts, part.starts),
    },
    endedUids: [...before.endedUids.filter((uid) => known.has(uid)), ...news.map(({ uid }) => uid)],
  };
  return countDay({ ...input, before: next });
}

interface Part {
  readonly usage: DayEntry['usage'];
  readonly starts: DayEntry['starts'];
}

function getSpan({ day, nowMs, openMs }: DayInput): Span {
  const startMs = getStartOfDay(day);
  return { startMs: Math.max(startMs, openMs), endMs: Math.min(startMs + DAY_MS, nowMs) };
}

function countPart(input: DayInput, records: readonly Recorded[]): Part {
  const span = getSpan(input);
  const usage: Record<string, Amounts> = {};
  const starts: Record<string, number> = {};
  for (const { value } of records) {
    const used = computeUsage(value, computeRunMs(value, span).get(input.day));
    const { apiKey = '' } = value;
    if (used.runMs > 0) usage[apiKey] = addAmounts(usage[apiKey] ?? NOTHING, used);
    const startMs = findStartMs(value);
    if (startMs === undefined || startMs < span.startMs || startMs >= span.endMs) continue;
    const bucket = getBucket(startMs, input.day);
    starts[bucket] = (starts[bucket] ?? 0) + 1;
  }
  return { usage, starts };
}

function getBucket(atMs: number, day: Day): string {
  return String(Math.floor((atMs - getStartOfDay(day)) / BUCKET_MS));
}

/** The most Sandboxes at a time in each bucket of the day that may still change. */
function countPeaks(input: DayInput, records: readonly Recorded[]): DayEntry['peaks'] {
  const day = getSpan(input);
  const asOfMs = input.before?.asOfMs ?? 0;
  const startMs = Math.max(day.startMs, Math.min(asOfMs, input.nowMs) - RECOUNT_MS);
  const spans = records.flatMap(({ value }) => listSpans(value, { startMs, endMs: day.endMs }));
  const changes = spans.flatMap((span) => [
    { atMs: span.startMs, by: 1 },
    { atMs: span.endMs, by: -1 },
  ]);
  // What ends at a moment is not there together with what begins then.
  changes.sort((a, b) => a.atMs - b.atMs || a.by - b.by);
  const peaks: Record<string, number> = {};
  let running = 0;
  let sinceMs = startMs;
  for (const { atMs, by } of changes) {
    notePeak(peaks, { running, startMs: sinceMs, endMs: atMs, day: input.day });
    running += by;
    sinceMs = atMs;
  }
  return peaks;
}

interface Stretch extends Span {
  readonly running: number;
  readonly day: Day;
}

function notePeak(peaks: Record<string, number>, { running, startMs, endMs, day }: Stretch): void {
  if (running === 0) return;
  for (let atMs = Math.floor(startMs / BUCKET_MS) * BUCKET_MS; atMs < endMs; atMs += BUCKET_MS) {
    const bucket = getBucket(atMs, day);
    peaks[bucket] = Math.max(peaks[bucket] ?? 0, running);
  }
}

function addUsage(a: DayEntry['usage'], b: DayEntry['usage']): DayEntry['usage'] {
  const sum = { ...a };
  for (const [key, used] of Object.entries(b)) {
    const place = key in sum || Object.keys(sum).length < MOST_KEYS ? key : '';
    sum[place] = addAmounts(sum[place] ?? NOTHING, used);
  }
  return sum;
}

function addCounts(a: DayEntry['starts'], b: DayEntry['starts']): DayEntry['starts'] {
  const sum = { ...a };
  for (const [bucket, count] of Object.entries(b)) sum[bucket] = (sum[bucket] ?? 0) + count;
  return sum;
}

function maxCounts(a: DayEntry['peaks'], b: DayEntry['peaks']): DayEntry['peaks'] {
  const most = { ...a };
  for (const [bucket, count] of Object.entries(b)) most[bucket] = Math.max(most[bucket] ?? 0, count);
  return most;
}

/** But for the time of the count. */
function isSame(a: DayEntry, b: DayEntry): boolean {
  return JSON.stringify({ ...a, asOfMs: 0 }) === JSON.stringify({ ...b, asOfMs: 0 });
}
