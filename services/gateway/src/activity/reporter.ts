import type { ActivityReport, Bus } from '@sandlot/bus';
import type { Clock, Timer } from '@sandlot/std';

const LOOK_MS = 1_000;
/** Of what was said so shortly before the bus was seen to be away nobody knows whether it was heard. */
const DOUBTFUL_MS = 60_000;
/** When it is all said again, since the bus is back: those who listen come back in their own time. */
const AGAIN_MS = [0, 5_000, 15_000];
const MAX_SANDBOXES = 10_000;

interface Said {
  readonly report: ActivityReport;
  /** Monotonic. */
  readonly saidMs: number;
}

export type Reporting = Pick<Bus, 'reportActivity' | 'connected'>;

/**
 * Reports of activity for a bus that may be away: the latest of each Sandbox is kept meanwhile, and said again when the bus is
 * back. Without it, a sandbox that was used would count as idle. Bounded: the oldest of too many are forgotten.
 */
export class Retelling {
  readonly #bus: Reporting;
  readonly #clock: Clock;
  /** By UID of the Sandbox, what was said longest ago first. */
  readonly #said = new Map<string, Said>();
  /** Milliseconds after the return of the bus at which to say it all again; empty: nothing is in doubt. */
  #again: readonly number[] = [];
  #backMs: number | undefined;
  #timer: Timer;

  constructor(bus: Reporting, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#timer = this.#arm();
  }

  report(report: ActivityReport): void {
    this.#said.delete(report.uid);
    this.#said.set(report.uid, { report, saidMs: this.#clock.monotonic() });
    const [oldest] = this.#said.keys();
    if (this.#said.size > MAX_SANDBOXES && oldest !== undefined) this.#said.delete(oldest);
    this.#bus.reportActivity(report);
  }

  close(): void {
    this.#timer.cancel();
    this.#said.clear();
  }

  #arm(): Timer {
    return this.#clock.setTimeout(() => {
      this.#look();
      this.#timer = this.#arm();
    }, LOOK_MS);
  }

  #look(): void {
    const nowMs = this.#clock.monotonic();
    if (!this.#bus.connected()) {
      this.#again = AGAIN_MS;
      this.#backMs = undefined;
      return;
    }
    this.#backMs ??= nowMs;
    const [nextMs] = this.#again;
    if (nextMs === undefined) this.#forget(nowMs - DOUBTFUL_MS);
    else if (nowMs - this.#backMs >= nextMs) this.#sayAgain();
  }

  #sayAgain(): void {
    this.#again = this.#again.slice(1);
    for (const { report } of this.#said.values()) this.#bus.reportActivity(report);
  }

  #forget(beforeMs: number): void {
    for (const [uid, { saidMs }] of this.#said) {
      if (saidMs >= beforeMs) return;
      this.#said.delete(uid);
    }
  }
}
