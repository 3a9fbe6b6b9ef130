import { annotations } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';

/**
 * Reports of activity in the annotation that are ahead of our clock, because the reporting tool's clock is, or by mistake.
 * Such a report counts once, as of the moment it was first seen. Counted as "now" in every pass, a report of the far future
 * would keep its Sandbox from ever being idle. After a restart the report is seen for the first time again.
 */
export class EarlyActivity {
  readonly #clock: Clock;
  /** By UID of the Sandbox. */
  readonly #seen = new Map<string, { readonly report: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Dates the report on the Sandbox if it is ahead of our clock and has not been seen. Call it in every pass. */
  record({ metadata: { uid = '', annotations: notes } }: Sandbox): void {
    const report = notes?.[annotations.lastActivityAt] ?? '';
    if (this.#seen.get(uid)?.report === report) return;
    const nowMs = this.#clock.now();
    if (Date.parse(report) > nowMs) this.#seen.set(uid, { report, atMs: nowMs });
    else this.#seen.delete(uid);
  }

  /** When the report on the Sandbox was first seen, epoch milliseconds; undefined for one that was never ahead. */
  seenMs({ metadata: { uid = '', annotations: notes } }: Sandbox): number | undefined {
    const known = this.#seen.get(uid);
    return known?.report === notes?.[annotations.lastActivityAt] ? known?.atMs : undefined;
  }

  /** The Sandbox is gone. */
  forget({ metadata: { uid = '' } }: Sandbox): void {
    this.#seen.delete(uid);
  }
}
