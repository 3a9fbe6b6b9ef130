import type { Sandbox } from '@sandlot/api-types';
import { isForbidden, isInvalid } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Failure } from '../plan/snapshot.ts';
import { TimedMap } from '../wiring/timed-map.ts';

/** Short at first: the ServiceAccount of a new namespace appears within a moment. At the end a person has to act. */
const FIRST_MS = 250;
const LONGEST_MS = 45_000;
const MAX_REJECTIONS = 10_000;

interface Rejection {
  readonly failure: Failure;
  readonly generation: number | undefined;
  readonly delayMs: number;
  readonly retryAtMs: number;
}

/** Whether the API server rejected the request itself: the same request gets the same answer. */
export function isRejection(error: unknown): boolean {
  return isForbidden(error) || isInvalid(error);
}

/**
 * What the API server rejected, so that only time or an edit of the Sandbox makes the controller ask again: not the events
 * of a watch, and not the status write that reports the failure. The delay doubles with each rejection.
 */
export class RejectedWrites {
  readonly #clock: Clock;
  readonly #rejections: TimedMap<Rejection>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#rejections = new TimedMap({ clock, max: MAX_REJECTIONS });
  }

  /** Records that the API server rejected a write; returns the failure with the time to retry. */
  record({ metadata: { uid = '', generation } }: Sandbox, failure: Failure): Failure {
    const key = formatKey(uid, failure);
    const before = this.#rejections.get(key);
    const isRepeated = before !== undefined && before.generation === generation;
    const delayMs = isRepeated ? Math.min(before.delayMs * 2, LONGEST_MS) : FIRST_MS;
    const retryAtMs = this.#clock.monotonic() + delayMs;
    this.#rejections.set(key, { failure, generation, delayMs, retryAtMs }, delayMs + LONGEST_MS);
    return { ...failure, retryAtMs: this.#clock.now() + delayMs };
  }

  /** Rejections of this generation of the Sandbox whose time to retry has not come. */
  listPending({ metadata: { uid = '', generation } }: Sandbox): Failure[] {
    return (['disks', 'hibernation', 'pod', 'resize', 'service'] as const).flatMap((phase) => {
      const found = this.#rejections.get(formatKey(uid, { phase }));
      const leftMs = (found?.retryAtMs ?? 0) - this.#clock.monotonic();
      if (found === undefined || found.generation !== generation || leftMs <= 0) return [];
      return [{ ...found.failure, retryAtMs: this.#clock.now() + leftMs }];
    });
  }
}

const formatKey = (uid: string, { phase }: Pick<Failure, 'phase'>): string => `${uid} ${phase}`;
