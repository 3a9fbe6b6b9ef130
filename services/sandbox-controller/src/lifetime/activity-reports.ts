import type { ActivityReport, Bus } from '@sandlot/bus';
import { createChannelSource } from '@sandlot/kube';
import type { Source } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/** Longer than any status needs to follow: it does after a quarter of the shortest idle limit. */
const KEPT_MS = 7 * 86_400_000;
const MAX_SANDBOXES = 100_000;

/** When Sandboxes were last used, as gateways and the API report. A restart forgets it; the status keeps it coarsely. */
export class ActivityReports {
  readonly #clock: Clock;
  readonly #lastMs: TimedMap<number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = new TimedMap({ clock, max: MAX_SANDBOXES });
  }

  /** Reports may come late and in any order; one that is ahead of our clock counts as of now. */
  record({ uid, atMs }: Pick<ActivityReport, 'uid' | 'atMs'>): void {
    const usedMs = Math.min(atMs, this.#clock.now());
    this.#lastMs.set(uid, Math.max(usedMs, this.#lastMs.get(uid) ?? 0), KEPT_MS);
  }

  /** When the Sandbox was last used, epoch milliseconds; undefined without a report. */
  lastUsedMs(uid: string | undefined): number | undefined {
    return this.#lastMs.get(uid ?? '');
  }
}

/** Records reports as they arrive on the bus and enqueues their Sandboxes, so that the status follows. */
export function createActivitySource(bus: Bus, reports: ActivityReports): Source & Disposable {
  const source = createChannelSource();
  const subscription = bus.onActivity((report) => {
    reports.record(report);
    source.push(`${report.namespace}/${report.name}`);
  });
  return { ...source, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
