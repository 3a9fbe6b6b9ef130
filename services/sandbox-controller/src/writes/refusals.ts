import type { Sandbox } from '@sandlot/api-types';
import { isForbidden, isInvalid } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import type { Failure } from '../plan/snapshot.ts';
import { TimedMap } from '../wiring/timed-map.ts';

/** Short at first: the ServiceAccount of a new namespace is a moment away. At the end whoever waits waits for a person. */
const FIRST_MS = 250;
const LONGEST_MS = 45_000;
const MAX_REFUSALS = 10_000;

interface Refusal {
  readonly failure: Failure;
  readonly generation: number | undefined;
  readonly delayMs: number;
  readonly retryAtMs: number;
}

/** Whether the API server said no to what we asked for: asking again at once gets the same answer. */
export function isRefused(error: unknown): boolean {
  return isForbidden(error) || isInvalid(error);
}

/**
 * What the API server refused to create, so that nothing but time or an edit of the Sandbox makes us ask again: neither
 * the events of a watch nor the status that tells of it. Doubles the delay with each refusal.
 */
export class Refusals {
  readonly #clock: Clock;
  readonly #refusals: TimedMap<Refusal>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refusals = new TimedMap({ clock, max: MAX_REFUSALS });
  }

  /** Remembers that `failure` was a refusal, and says when to try again. */
  refused({ metadata: { uid = '', generation } }: Sandbox, failure: Failure): Failure {
    const key = keyOf(uid, failure);
    const before = this.#refusals.get(key);
    const isRepeated = before !== undefined && before.generation === generation;
    const delayMs = isRepeated ? Math.min(before.delayMs * 2, LONGEST_MS) : FIRST_MS;
    const retryAtMs = this.#clock.monotonic() + delayMs;
    this.#refusals.set(key, { failure, generation, delayMs, retryAtMs }, delayMs + LONGEST_MS);
    return { ...failure, retryAtMs: this.#clock.now() + delayMs };
  }

  /** Refusals of this generation of the Sandbox that it is too early to question. */
  standing({ metadata: { uid = '', generation } }: Sandbox): Failure[] {
    return (['pvcs', 'pod', 'service'] as const).flatMap((phase) => {
      const found = this.#refusals.get(keyOf(uid, { phase }));
      const leftMs = (found?.retryAtMs ?? 0) - this.#clock.monotonic();
      if (found === undefined || found.generation !== generation || leftMs <= 0) return [];
      return [{ ...found.failure, retryAtMs: this.#clock.now() + leftMs }];
    });
  }
}

const keyOf = (uid: string, { phase }: Pick<Failure, 'phase'>): string => `${uid} ${phase}`;
