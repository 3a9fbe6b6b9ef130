import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/** A trouble that lasts is told again after this long, for those who come later: Events do not live for ever. */
const AGAIN_MS = 600_000;
const MAX_SANDBOXES = 10_000;

/** Which troubles of a Sandbox, by its UID, its Events tell of. */
export class Told {
  readonly #clock: Clock;
  readonly #told: TimedMap<ReadonlyMap<string, number>>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#told = new TimedMap({ clock, max: MAX_SANDBOXES });
  }

  /** Keys of the troubles, and until when they need not be told again, in wall time. */
  of(uid: string): ReadonlyMap<string, number> {
    return this.#told.get(uid) ?? NOTHING;
  }

  /** From now on `key` counts as told; returns what {@link of} does then. */
  add(uid: string, key: string, forMs = AGAIN_MS): ReadonlyMap<string, number> {
    const nowMs = this.#clock.now();
    const fresh = [...this.of(uid)].filter(([, untilMs]) => untilMs > nowMs);
    const told = new Map([...fresh, [key, nowMs + forMs] as const]);
    this.#told.set(uid, told, AGAIN_MS);
    return told;
  }
}

const NOTHING: ReadonlyMap<string, number> = new Map();
