import { formatIsoTime } from '../../answer/sandbox.ts';
import type { SandboxMetric } from '../../answer/schemas.ts';

/** A range of Unix seconds, both ends included. */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
}

const HOUR = 3_600;
/** The distance of points in an answer, seconds, by the longest range that it is for (docs/reference/e2b-api.md#metrics). */
const STEPS: readonly (readonly [range: number, step: number])[] = [
  [HOUR, 5],
  [6 * HOUR, 30],
  [12 * HOUR, 60],
  [24 * HOUR, 120],
  [7 * 24 * HOUR, 300],
];
const LONGEST_STEP = 900;

/** The distance of points in an answer about that range, seconds. */
export function findStep({ start, end }: TimeRange): number {
  return STEPS.find(([range]) => end - start <= range)?.[1] ?? LONGEST_STEP;
}

/** The points in the range in ascending order, one per step: the last of each. No second has two of them. */
export function thinPoints(points: readonly SandboxMetric[], range: TimeRange): readonly SandboxMetric[] {
  const step = findStep(range);
  const last = new Map<number, SandboxMetric>();
  for (const point of points.toSorted((a, b) => a.timestampUnix - b.timestampUnix)) {
    const at = point.timestampUnix;
    if (at >= range.start && at <= range.end) last.set(Math.floor(at / step), point);
  }
  return [...last.values()];
}

/** A point without its time, in a few bytes. */
export function encodePoint(sample: SandboxMetric): string {
  const percent = Math.round(sample.cpuUsedPct * 100) / 100;
  const { cpuCount, memUsed, memTotal, memCache, diskUsed, diskTotal } = sample;
  return [cpuCount, percent, memUsed, memTotal, memCache, diskUsed, diskTotal].join(',');
}

/** Undefined for a text that is not ours. */
export function decodePoint(timestampUnix: number, text: string): SandboxMetric | undefined {
  const values = text.split(',').map(Number);
  const [cpuCount, cpuUsedPct, memUsed, memTotal, memCache, diskUsed, diskTotal] = values;
  const isWhole = values.length === 7 && values.every((value) => Number.isFinite(value));
  if (!isWhole || cpuCount === undefined || cpuUsedPct === undefined) return undefined;
  if (memUsed === undefined || memTotal === undefined || memCache === undefined) return undefined;
  if (diskUsed === undefined || diskTotal === undefined) return undefined;
  const timestamp = formatIsoTime(timestampUnix * 1_000);
  return { timestamp, timestampUnix, cpuCount, cpuUsedPct, memUsed, memTotal, memCache, diskUsed, diskTotal };
}
