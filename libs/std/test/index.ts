import { sleepWith } from '../src/clock.ts';
import type { Clock, Timer } from '../src/clock.ts';
import type { Random } from '../src/random.ts';

export { identities } from './identities.ts';
export type { TestIdentity } from './identities.ts';

/** So many timers at one moment are a loop without a pause. */
const MOST_AT_ONCE = 20_000;

interface PendingTimer {
  readonly dueMs: number;
  readonly fn: () => void;
}

/** A clock that moves only in `advance`. Timers fire in order of their due time, and so do timers that they start. */
export class FakeClock implements Clock {
  readonly #originMs: number;
  #elapsedMs = 0;
  readonly #pending = new Set<PendingTimer>();

  constructor(originMs = Date.UTC(2030, 0, 1)) {
    this.#originMs = originMs;
  }

  now(): number {
    return this.#originMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  setTimeout(fn: () => void, delayMs: number): Timer {
    const timer: PendingTimer = { dueMs: this.#elapsedMs + Math.max(delayMs, 0), fn };
    this.#pending.add(timer);
    return { cancel: () => this.#pending.delete(timer) };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, delayMs, signal);
  }

  /** Milliseconds until the next timer, undefined when none is pending. */
  nextTimerMs(): number | undefined {
    const next = this.#earliest();
    return next === undefined ? undefined : next.dueMs - this.#elapsedMs;
  }

  /**
   * Moves time by `ms`: runs the timers that fall due and lets promises settle after each. Rejects when the code under
   * test starts timers without a delay again and again, which would stop time for ever.
   */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#elapsedMs + ms;
    let atOnce = 0;
    await settle();
    for (let next = this.#earliest(); next !== undefined && next.dueMs <= targetMs; next = this.#earliest()) {
      atOnce = next.dueMs > this.#elapsedMs ? 0 : atOnce + 1;
      if (atOnce > MOST_AT_ONCE)
        throw new Error(`${MOST_AT_ONCE} timers at ${this.#elapsedMs} ms: a loop without a pause`);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#pending.delete(next);
      next.fn();
      await settle();
    }
    this.#elapsedMs = targetMs;
  }

  #earliest(): PendingTimer | undefined {
    let earliest: PendingTimer | undefined;
    for (const timer of this.#pending) {
      if (earliest === undefined || timer.dueMs < earliest.dueMs) earliest = timer;
    }
    return earliest;
  }
}

/** A repeatable source: a test sees the same uids and names in every run. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One turn of the event loop: afterwards every promise has settled that needs no time to pass. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
