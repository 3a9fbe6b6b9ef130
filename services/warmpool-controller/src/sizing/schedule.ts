import type { SandboxWarmPoolSpec } from '@sandlot/api-types';
import { CronExpressionParser } from 'cron-parser';

export type Schedule = NonNullable<SandboxWarmPoolSpec['schedules']>[number];

/** A schedule at one moment. Times are wall-clock milliseconds. */
export interface Window {
  readonly schedule: Schedule;
  readonly open: boolean;
  /** When it opens or closes next; undefined when it never opens again. */
  readonly changesAtMs: number | undefined;
  /** Why the schedule can never open; it counts as closed. */
  readonly problem?: string | undefined;
}

/** A stretch of time without a start in between: `startMs` is its first moment, `nextMs` the next start. */
interface Stretch {
  readonly startMs: number;
  readonly nextMs: number;
  readonly problem?: string | undefined;
}

/** Expressions remembered at once: pools times schedules of an installation, within reason. */
const MAX_KNOWN = 2_000;

/**
 * Reads schedules: five cron fields in a time zone, daylight saving time included. A window is open from its latest start
 * for its duration; a start within an open window extends it. What it works out holds until the next start, so that
 * looking often costs little.
 */
export class Timetable {
  readonly #known = new Map<string, Stretch>();

  windows(schedules: readonly Schedule[] | undefined, nowMs: number): readonly Window[] {
    return (schedules ?? []).map((schedule) => this.#window(schedule, nowMs));
  }

  #window(schedule: Schedule, nowMs: number): Window {
    const { startMs, nextMs, problem } = this.#stretch(schedule, nowMs);
    const endMs = startMs + schedule.durationSeconds * 1_000;
    const open = nowMs < endMs;
    const changesAtMs = open ? endMs : nextMs;
    return {
      schedule,
      open,
      changesAtMs: Number.isFinite(changesAtMs) ? changesAtMs : undefined,
      ...(problem === undefined ? {} : { problem }),
    };
  }

  #stretch({ cron, timeZone = 'UTC' }: Schedule, nowMs: number): Stretch {
    const key = `${timeZone} ${cron}`;
    const known = this.#known.get(key);
    if (known !== undefined && known.startMs <= nowMs && nowMs < known.nextMs) return known;
    const stretch = stretchAround({ cron, timeZone }, nowMs);
    this.#known.delete(key);
    this.#known.set(key, stretch);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    return stretch;
  }
}

/** The next moment at which one of the windows opens or closes, epoch milliseconds; undefined: never. */
export function nextEdgeMs(windows: readonly Window[]): number | undefined {
  const edges = windows.flatMap(({ changesAtMs }) => changesAtMs ?? []);
  return edges.length === 0 ? undefined : Math.min(...edges);
}

const SECOND_MS = 1_000;

function stretchAround({ cron, timeZone }: { cron: string; timeZone: string }, nowMs: number): Stretch {
  // Starts are on whole seconds; the parser looks strictly before and after its date.
  const secondMs = Math.floor(nowMs / SECOND_MS) * SECOND_MS;
  const from = (currentMs: number) =>
    CronExpressionParser.parse(cron, { tz: timeZone, currentDate: new Date(currentMs) });
  try {
    const nextMs = from(secondMs).next().getTime();
    return {
      startMs: from(secondMs + SECOND_MS)
        .prev()
        .getTime(),
      nextMs,
    };
  } catch (error) {
    return { startMs: -Infinity, nextMs: Infinity, problem: error instanceof Error ? error.message : String(error) };
  }
}
