import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/** A trouble that lasts gets another Event after this long: Events expire. */
const REPEAT_AFTER_MS = 600_000;
const MAX_SANDBOXES = 10_000;

/** Which troubles of each Sandbox already have an Event. */
export class ReportedTroubles {
  readonly #clock: Clock;
  /** By UID of the Sandbox. */
  readonly #reported: TimedMap<ReadonlyMap<string, number>>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#reported = new TimedMap({ clock, max: MAX_SANDBOXES });
  }

  /** Keys of the troubles of the Sandbox, and until when each needs no other Event, in wall time. */
  of(uid: string): ReadonlyMap<string, number> {
    return this.#reported.get(uid) ?? NONE;
  }

  /** From now on, for `forMs`, `key` counts as reported; returns what {@link of} then returns. */
  record(uid: string, key: string, forMs = REPEAT_AFTER_MS): ReadonlyMap<string, number> {
    const nowMs = this.#clock.now();
    const current = [...this.of(uid)].filter(([, untilMs]) => untilMs > nowMs);
    const reported = new Map([...current, [key, nowMs + forMs] as const]);
    this.#reported.set(uid, reported, REPEAT_AFTER_MS);
    return reported;
  }
}

const NONE: ReadonlyMap<string, number> = new Map();
