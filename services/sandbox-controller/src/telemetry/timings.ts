import { resolveMode, findCondition, sandboxConditions, getSuspender } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { PersistentVolumeClaim } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/** What takes longer is not measured: it waits for a person, not for a machine. */
const LONGEST_MS = 3_600_000;
const MAX_RUNNING = 10_000;

/** How long something took, in seconds. `cause`: who suspended the Sandbox. */
export interface Timing {
  readonly what: 'suspend' | 'resume' | 'disk';
  readonly cause: string;
  readonly seconds: number;
}

interface Start {
  readonly what: 'suspend' | 'resume';
  readonly cause: string;
  readonly atMs: number;
}

/**
 * Measures how long suspensions, resumes and the provisioning of disks take, from what the caches show, by the monotonic
 * clock. What began before this process is not measured.
 */
export class Timings {
  readonly #clock: Clock;
  readonly #modes: TimedMap<Start>;
  readonly #disks: TimedMap<number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#modes = new TimedMap({ clock, max: MAX_RUNNING });
    this.#disks = new TimedMap({ clock, max: MAX_RUNNING });
  }

  /** A suspension or resume begins with the edit of the spec. It ends when Suspended, or Ready, is True. */
  onSandboxChange(old: Sandbox | undefined, next: Sandbox | undefined): Timing | undefined {
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (old === undefined || next === undefined) {
      this.#modes.delete(uid);
      return undefined;
    }
    const mode = resolveMode(next.spec);
    if (resolveMode(old.spec) !== mode) {
      const what = mode === 'Suspended' ? 'suspend' : 'resume';
      const cause = getSuspender(mode === 'Suspended' ? next : old);
      this.#modes.set(uid, { what, cause, atMs: this.#clock.monotonic() }, LONGEST_MS);
    }
    return this.#endIfTrue(uid, next);
  }

  /** From the first sight of a disk without a volume until it is bound. */
  onDiskChange(old: PersistentVolumeClaim | undefined, next: PersistentVolumeClaim | undefined): Timing | undefined {
    const uid = (next ?? old)?.metadata.uid ?? '';
    const nowMs = this.#clock.monotonic();
    if (next !== undefined && !isBound(next)) {
      if (old === undefined) this.#disks.set(uid, nowMs, LONGEST_MS);
      return undefined;
    }
    const sinceMs = this.#disks.get(uid);
    this.#disks.delete(uid);
    if (next === undefined || sinceMs === undefined) return undefined;
    return { what: 'disk', cause: '', seconds: (nowMs - sinceMs) / 1_000 };
  }

  #endIfTrue(uid: string, { status }: Sandbox): Timing | undefined {
    const start = this.#modes.get(uid);
    const type = start?.what === 'suspend' ? sandboxConditions.suspended : sandboxConditions.ready;
    if (start === undefined || findCondition(status?.conditions, type)?.status !== 'True') return undefined;
    this.#modes.delete(uid);
    return { what: start.what, cause: start.cause, seconds: (this.#clock.monotonic() - start.atMs) / 1_000 };
  }
}

const isBound = ({ status }: PersistentVolumeClaim): boolean => status?.phase === 'Bound';
