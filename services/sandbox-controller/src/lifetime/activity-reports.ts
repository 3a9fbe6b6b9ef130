import type { ActivityReport, Bus } from '@sandlot/bus';
import { channelSource } from '@sandlot/kube';
import type { Source } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';
import { PATIENT } from '../pacing/priority.ts';

/** Longer than any status needs to follow, which does once a quarter of the shortest idle limit has passed. */
const KEPT_MS = 7 * 86_400_000;
const MAX_SANDBOXES = 100_000;

/** When Sandboxes were last used, as gateways and the API report it. A restart forgets it; the status remembers it coarsely. */
export class UseReports {
  readonly #clock: Clock;
  readonly #used: TimedMap<number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#used = new TimedMap({ clock, max: MAX_SANDBOXES });
  }

  /** Somebody used it. Reports may come late and in any order; one that is ahead of our clock counts as of now. */
  said({ uid, atMs }: Pick<ActivityReport, 'uid' | 'atMs'>): void {
    const usedMs = Math.min(atMs, this.#clock.now());
    this.#used.set(uid, Math.max(usedMs, this.#used.get(uid) ?? 0), KEPT_MS);
  }

  /** When the Sandbox was last used, epoch milliseconds; undefined when nobody has said so. */
  lastMs(uid: string | undefined): number | undefined {
    return this.#used.get(uid ?? '');
  }
}

/** Remembers reports as they come, and has the Sandbox looked at in its turn, so that its status follows. */
export function useSource(bus: Bus, uses: UseReports): Source & Disposable {
  const source = channelSource();
  const subscription = bus.onActivity((report) => {
    uses.said(report);
    source.push(`${report.namespace}/${report.name}`, { priority: PATIENT });
  });
  return { ...source, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
