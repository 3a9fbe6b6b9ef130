import type { ActivityReport, Bus } from '@sandlot/bus';
import type { Clock, Timer } from '@sandlot/std';

/** How often the reporter checks whether the bus is connected. */
const CHECK_MS = 1_000;
/** A report sent this shortly before a disconnect may be lost: the reporter keeps it and resends it. */
const DOUBTFUL_MS = 60_000;
/** When the reporter resends after a reconnect: receivers reconnect at different times. */
const RESEND_MS = [0, 5_000, 15_000];
const MAX_SANDBOXES = 10_000;

interface Sent {
  readonly report: ActivityReport;
  /** Monotonic time. */
  readonly sentMs: number;
}

export type ActivityBus = Pick<Bus, 'reportActivity' | 'isConnected' | 'countDisconnections'>;

/**
 * Reports activity over a bus that may be away. It keeps the latest report of each Sandbox and resends it after a reconnect:
 * without it a sandbox in use would count as idle. When too many Sandboxes are kept, the oldest reports are forgotten.
 */
export class ActivityReporter {
  readonly #bus: ActivityBus;
  readonly #clock: Clock;
  /** By UID of the Sandbox, oldest first. */
  readonly #sent = new Map<string, Sent>();
  /** Milliseconds after the reconnect at which to resend; empty: no report is in doubt. */
  #resends: readonly number[] = [];
  #connectedMs: number | undefined;
  /** How often the bus had been disconnected at the last check. */
  #disconnections: number;
  #timer: Timer;

  constructor(bus: ActivityBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#disconnections = bus.countDisconnections();
    this.#timer = this.#arm();
  }

  report(report: ActivityReport): void {
    this.#sent.delete(report.uid);
    this.#sent.set(report.uid, { report, sentMs: this.#clock.monotonic() });
    const [oldest] = this.#sent.keys();
    if (this.#sent.size > MAX_SANDBOXES && oldest !== undefined) this.#sent.delete(oldest);
    this.#bus.reportActivity(report);
  }

  close(): void {
    this.#timer.cancel();
    this.#sent.clear();
  }

  #arm(): Timer {
    return this.#clock.setTimeout(() => {
      this.#check();
      this.#timer = this.#arm();
    }, CHECK_MS);
  }

  #check(): void {
    const nowMs = this.#clock.monotonic();
    const disconnections = this.#bus.countDisconnections();
    // A disconnection may begin and end between two checks.
    if (!this.#bus.isConnected() || disconnections !== this.#disconnections) {
      this.#disconnections = disconnections;
      this.#resends = RESEND_MS;
      this.#connectedMs = undefined;
    }
    if (!this.#bus.isConnected()) return;
    this.#connectedMs ??= nowMs;
    const [nextMs] = this.#resends;
    if (nextMs === undefined) this.#forget(nowMs - DOUBTFUL_MS);
    else if (nowMs - this.#connectedMs >= nextMs) this.#resend();
  }

  #resend(): void {
    this.#resends = this.#resends.slice(1);
    for (const { report } of this.#sent.values()) this.#bus.reportActivity(report);
  }

  #forget(beforeMs: number): void {
    for (const [uid, { sentMs }] of this.#sent) {
      if (sentMs >= beforeMs) return;
      this.#sent.delete(uid);
    }
  }
}
