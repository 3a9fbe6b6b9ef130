import { effectiveMode, findCondition, sandboxConditions, suspenderOf } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { PersistentVolumeClaim } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TimedMap } from '../wiring/timed-map.ts';

/** What takes longer than this is not measured: it waits for a person, not for a machine. */
const LONGEST_MS = 3_600_000;
const MAX_RUNNING = 10_000;

/** How long something took, in seconds. `cause`: who suspended the Sandbox. */
export interface Timing {
  readonly what: 'suspend' | 'resume' | 'pvc';
  readonly cause: string;
  readonly seconds: number;
}

interface Start {
  readonly what: 'suspend' | 'resume';
  readonly cause: string;
  readonly atMs: number;
}

/**
 * Measures, with the monotonic clock and from what the caches show, how long suspensions, resumes and the provisioning of
 * disks take. What began before this process did is not measured.
 */
export class Timings {
  readonly #clock: Clock;
  readonly #modes: TimedMap<Start>;
  readonly #claims: TimedMap<number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#modes = new TimedMap({ clock, max: MAX_RUNNING });
    this.#claims = new TimedMap({ clock, max: MAX_RUNNING });
  }

  /** A suspension begins with the spec that asks for it and ends when it is confirmed; a resume ends when Ready is. */
  sandboxChanged(old: Sandbox | undefined, next: Sandbox | undefined): Timing | undefined {
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (old === undefined || next === undefined) {
      this.#modes.delete(uid);
      return undefined;
    }
    const mode = effectiveMode(next.spec);
    if (effectiveMode(old.spec) !== mode) {
      const what = mode === 'Suspended' ? 'suspend' : 'resume';
      const cause = suspenderOf(mode === 'Suspended' ? next : old);
      this.#modes.set(uid, { what, cause, atMs: this.#clock.monotonic() }, LONGEST_MS);
    }
    return this.#ended(uid, next);
  }

  /** From the first sight of a claim that waits for its volume until it is bound. */
  claimChanged(old: PersistentVolumeClaim | undefined, next: PersistentVolumeClaim | undefined): Timing | undefined {
    const uid = (next ?? old)?.metadata.uid ?? '';
    const nowMs = this.#clock.monotonic();
    if (next !== undefined && !isBound(next)) {
      if (old === undefined) this.#claims.set(uid, nowMs, LONGEST_MS);
      return undefined;
    }
    const sinceMs = this.#claims.get(uid);
    this.#claims.delete(uid);
    if (next === undefined || sinceMs === undefined) return undefined;
    return { what: 'pvc', cause: '', seconds: (nowMs - sinceMs) / 1_000 };
  }

  #ended(uid: string, { status }: Sandbox): Timing | undefined {
    const start = this.#modes.get(uid);
    const type = start?.what === 'suspend' ? sandboxConditions.suspended : sandboxConditions.ready;
    if (start === undefined || findCondition(status?.conditions, type)?.status !== 'True') return undefined;
    this.#modes.delete(uid);
    return { what: start.what, cause: start.cause, seconds: (this.#clock.monotonic() - start.atMs) / 1_000 };
  }
}

const isBound = ({ status }: PersistentVolumeClaim): boolean => status?.phase === 'Bound';
