import { BUCKET_MS } from './day-entry.ts';
import type { DayEntry } from './day-entry.ts';
import { formatDay, getStartOfDay } from './days.ts';
import type { Day, Span } from './days.ts';

export interface TeamPoint {
  /** When the time begins that it is about, epoch milliseconds. */
  readonly atMs: number;
  /** The most Sandboxes at a time. */
  readonly concurrent: number;
  /** Sandboxes per second. */
  readonly startRate: number;
}

/** The most points of an answer. */
const MOST_POINTS = 1_000;

/** The points of a span, ascending, at most a thousand and at least five minutes apart. */
export function listPoints(days: ReadonlyMap<Day, DayEntry>, { startMs, endMs }: Span): readonly TeamPoint[] {
  const first = Math.floor(startMs / BUCKET_MS);
  const last = Math.ceil(endMs / BUCKET_MS);
  const step = Math.max(1, Math.ceil((last - first) / MOST_POINTS));
  const points: TeamPoint[] = [];
  for (let from = first; from < last; from += step) {
    const buckets = Array.from({ length: Math.min(step, last - from) }, (_, index) => findBucket(days, from + index));
    const starts = buckets.reduce((sum, bucket) => sum + bucket.starts, 0);
    points.push({
      atMs: from * BUCKET_MS,
      concurrent: Math.max(...buckets.map(({ peak }) => peak)),
      startRate: (starts * 1_000) / (buckets.length * BUCKET_MS),
    });
  }
  return points;
}

function findBucket(
  days: ReadonlyMap<Day, DayEntry>,
  bucket: number,
): { readonly peak: number; readonly starts: number } {
  const atMs = bucket * BUCKET_MS;
  const day = formatDay(atMs);
  const entry = days.get(day);
  const place = String((atMs - getStartOfDay(day)) / BUCKET_MS);
  return { peak: entry?.peaks[place] ?? 0, starts: entry?.starts[place] ?? 0 };
}
