import { annotations } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';

/**
 * Reports of activity that are ahead of our clock: by a tool whose clock is, or by mistake. Such a report counts as of the
 * moment it was first seen, and once. Counted as "now" in every pass, one of the far future would keep its Sandbox from
 * ever being idle. A restart forgets that moment, and sees the report for the first time again.
 */
export class EarlyReports {
  readonly #clock: Clock;
  /** By UID of the Sandbox. */
  readonly #seen = new Map<string, { readonly report: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the report on the Sandbox was first seen, epoch milliseconds; undefined for one that was never ahead. */
  seenMs({ metadata: { uid = '', annotations: notes } }: Sandbox): number | undefined {
    const report = notes?.[annotations.lastActivityAt] ?? '';
    const known = this.#seen.get(uid);
    if (known?.report === report) return known.atMs;
    const atMs = this.#clock.now();
    if (!(Date.parse(report) > atMs)) {
      this.#seen.delete(uid);
      return undefined;
    }
    this.#seen.set(uid, { report, atMs });
    return atMs;
  }

  /** The Sandbox is gone. */
  forget({ metadata: { uid = '' } }: Sandbox): void {
    this.#seen.delete(uid);
  }
}
