export const DAY_MS = 86_400_000;

/** A day of UTC as `20300131`. */
export type Day = string;

export function formatDay(atMs: number): Day {
  return new Date(atMs).toISOString().slice(0, 10).replaceAll('-', '');
}

/** When the day begins, epoch milliseconds. */
export function getStartOfDay(day: Day): number {
  return Date.parse(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6, 8)}T00:00:00Z`);
}

/** The days from that of `startMs` to that of `endMs`, both included. */
export function listDays(startMs: number, endMs: number): readonly Day[] {
  const days: Day[] = [];
  for (let at = getStartOfDay(formatDay(startMs)); at <= endMs; at += DAY_MS) days.push(formatDay(at));
  return days;
}

export interface Span {
  readonly startMs: number;
  /** Not included. */
  readonly endMs: number;
}

/** How much of the span is in each day that it touches, milliseconds. */
export function divideByDay({ startMs, endMs }: Span): ReadonlyMap<Day, number> {
  const parts = new Map<Day, number>();
  for (let at = startMs; at < endMs;) {
    const day = formatDay(at);
    const next = Math.min(endMs, getStartOfDay(day) + DAY_MS);
    parts.set(day, next - at);
    at = next;
  }
  return parts;
}
