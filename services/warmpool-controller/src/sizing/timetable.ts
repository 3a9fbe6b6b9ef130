import { CronExpressionParser } from 'cron-parser';
import type { Schedule, Window } from './schedule.ts';

/** The time between two starts of a cron expression: `startMs` is its first moment, `nextMs` the next start. */
interface Stretch {
  readonly startMs: number;
  readonly nextMs: number;
  readonly problem?: string | undefined;
}

/** Cron expressions kept at once, over all pools. */
const MAX_KNOWN = 2_000;

/**
 * Reads schedules: five cron fields in a time zone, daylight saving time included. A window is open from its latest start
 * for its duration; a start within an open window extends it. Keeps the stretch around now of each expression, because
 * parsing one for every pass over a pool would be slow.
 */
export class Timetable {
  readonly #known = new Map<string, Stretch>();

  /** The windows of `schedules` at `nowMs` (epoch), in their order. */
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
    const stretch = parseStretch({ cron, timeZone }, nowMs);
    this.#known.delete(key);
    this.#known.set(key, stretch);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    return stretch;
  }
}

const SECOND_MS = 1_000;

function parseStretch({ cron, timeZone }: { cron: string; timeZone: string }, nowMs: number): Stretch {
  // Starts are on whole seconds; the parser looks strictly before and after its date.
  const secondMs = Math.floor(nowMs / SECOND_MS) * SECOND_MS;
  const from = (currentMs: number) =>
    CronExpressionParser.parse(cron, { tz: timeZone, currentDate: new Date(currentMs) });
  try {
    const nextMs = from(secondMs).next().getTime();
    const startMs = from(secondMs + SECOND_MS)
      .prev()
      .getTime();
    return { startMs, nextMs };
  } catch (error) {
    return { startMs: -Infinity, nextMs: Infinity, problem: error instanceof Error ? error.message : String(error) };
  }
}
