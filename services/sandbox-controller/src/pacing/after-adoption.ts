import type { Sandbox } from '@sandlot/api-types';
import { isBurst, withBurstEvent } from '@sandlot/std';
import type { Clock, Rate } from '@sandlot/std';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';
import { isAftermath } from './priority.ts';

/** For each adopted Sandbox whose generation is untold: however many there are, telling costs ten writes a second at most. */
const PER_ADOPTION_MS = 100;

/** Whatever else is adopted, the generation is told after this long. */
const LONGEST_MS = 5_000;

/** In a burst, what an adoption changes in a Pod waits for its end: looked at again after this long, and no longer than that. */
const YIELD_MS = 300;
const LONGEST_YIELD_MS = 3_000;

/**
 * How long the new generation of a Sandbox that a claim has just been given may go untold. Adoption changes the metadata of
 * its Pod's template and nothing else; its claim says Ready already. A single one is told at once; at many a second the
 * writes would take the server from the claims that come, and most short-lived Sandboxes are gone before anybody asks.
 * Kept in memory only: a new process tells at once what it finds untold.
 */
export class Aftermath {
  readonly #clock: Clock;
  /** When each was seen to be adopted and until when it was then granted to go untold, by UID. */
  readonly #adopted = new Map<string, { readonly sinceMs: number; untilMs?: number }>();

  /** Of adoptions. */
  #pace: Rate | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wall time, milliseconds, until when its Pod goes on as it is, as claims are being served; undefined when it need not. */
  yieldsUntilMs({ metadata: { uid = '' } }: Sandbox): number | undefined {
    const adoption = this.#adopted.get(uid);
    if (adoption === undefined || !isBurst(this.#pace, this.#clock.monotonic())) return undefined;
    return Math.min(this.#clock.now() + YIELD_MS, adoption.sinceMs + LONGEST_YIELD_MS);
  }

  /** Wall time, milliseconds, until when the generation may go untold; undefined when nothing is. */
  untilMs({ metadata: { uid = '' } }: Sandbox): number | undefined {
    const adoption = this.#adopted.get(uid);
    if (adoption === undefined) return undefined;
    adoption.untilMs ??= adoption.sinceMs + Math.min(this.#adopted.size * PER_ADOPTION_MS, LONGEST_MS);
    return adoption.untilMs;
  }

  /** To be called with every change of the cache of Sandboxes. */
  observed({ old, next }: { readonly old: Sandbox | undefined; readonly next: Sandbox | undefined }): void {
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (next === undefined || next.metadata.deletionTimestamp !== undefined || !isAftermath(next)) {
      this.#adopted.delete(uid);
    } else if (old !== undefined && !this.#adopted.has(uid)) {
      this.#adopted.set(uid, { sinceMs: this.#clock.now() });
      this.#pace = withBurstEvent(this.#pace, this.#clock.monotonic());
    }
  }
}

/** Milliseconds for which a plan can wait because claims are being served: it only makes a Pod bear its adoption. */
export function courtesyMs({ nowMs, yieldsUntilMs = 0 }: Snapshot, plan: Plan): number {
  const isPodOnly = plan.every((step) => step.kind === 'patchPod' && step.image === undefined);
  return isPodOnly ? Math.max(0, yieldsUntilMs - nowMs) : 0;
}
