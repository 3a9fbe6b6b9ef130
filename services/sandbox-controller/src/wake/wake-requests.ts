import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/**
 * How long a request stands that could not be answered yet: long enough for a conflict and for a cache that lags, and
 * short, because whoever asked repeats it while he still waits.
 */
const STANDS_MS = 5_000;
const MAX_REQUESTS = 10_000;

/** Requests to wake a Sandbox, by its UID. Those for one Sandbox are one: they share a resume. */
export class WakeRequests {
  readonly #clock: Clock;
  /** Whose trace the request came in, as the annotation's text. */
  readonly #requests: TimedMap<{ readonly trace: string | undefined }>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#requests = new TimedMap({ clock, max: MAX_REQUESTS });
  }

  ask(uid: string, trace?: string): void {
    this.#requests.set(uid, { trace }, STANDS_MS);
  }

  /** The trace of the request for `uid`, as the text of the annotation that carries it. */
  traceOf(uid: string): string | undefined {
    return this.#requests.get(uid)?.trace;
  }

  /** Until when the request for `uid` stands, in wall time; undefined without one. */
  untilMs(uid: string): number | undefined {
    const leftMs = this.#requests.leftMs(uid);
    return leftMs === undefined ? undefined : this.#clock.now() + leftMs;
  }

  /** The request has been answered. */
  answered(uid: string): void {
    this.#requests.delete(uid);
  }
}
