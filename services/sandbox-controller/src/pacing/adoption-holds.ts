import type { Sandbox } from '@sandlot/api-types';
import { isBurst, withBurstEvent } from '@sandlot/std';
import type { Clock, Rate } from '@sandlot/std';
import { isAfterAdoption } from './priority.ts';

/** For each adopted Sandbox with an unpublished generation: these status writes come ten a second at most. */
const PER_ADOPTION_MS = 100;

/** The generation is published after this long, whatever else is adopted. */
const LONGEST_STATUS_HOLD_MS = 5_000;

/** In a burst of adoptions, a pass that would only patch the labels of a Pod comes back after this long. */
const POD_HOLD_MS = 300;
const LONGEST_POD_HOLD_MS = 3_000;

/**
 * How long the writes that follow an adoption are held. An adoption changes the metadata of the Pod template and nothing
 * else, and the claim already shows Ready. A single adoption is published at once; at many a second these writes would
 * slow the claims that arrive, and most short-lived Sandboxes are gone before a client looks. In memory only: a new process
 * publishes at once what it finds.
 */
export class AdoptionHolds {
  readonly #clock: Clock;
  /** By UID: when the adoption was seen, and until when its status is held once that is granted. Wall time. */
  readonly #adoptions = new Map<string, { readonly sinceMs: number; statusUntilMs?: number }>();

  /** Of adoptions. */
  #rate: Rate | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Grants an adopted Sandbox its status hold, once: later adoptions do not prolong it. Call it in every pass. */
  grant({ metadata: { uid = '' } }: Sandbox): void {
    const adoption = this.#adoptions.get(uid);
    if (adoption === undefined) return;
    const holdMs = Math.min(this.#adoptions.size * PER_ADOPTION_MS, LONGEST_STATUS_HOLD_MS);
    adoption.statusUntilMs ??= adoption.sinceMs + holdMs;
  }

  /** Until when the status need not show the new generation, wall time in milliseconds; undefined: it is not held. */
  statusHoldUntilMs({ metadata: { uid = '' } }: Sandbox): number | undefined {
    return this.#adoptions.get(uid)?.statusUntilMs;
  }

  /** Until when the Pod keeps its old labels, wall time in milliseconds; undefined: it is not held. */
  podHoldUntilMs({ metadata: { uid = '' } }: Sandbox): number | undefined {
    const adoption = this.#adoptions.get(uid);
    if (adoption === undefined || !isBurst(this.#rate, this.#clock.monotonic())) return undefined;
    return Math.min(this.#clock.now() + POD_HOLD_MS, adoption.sinceMs + LONGEST_POD_HOLD_MS);
  }

  /** Call it with every change of the cache of Sandboxes. */
  onSandboxChange({ old, next }: { readonly old: Sandbox | undefined; readonly next: Sandbox | undefined }): void {
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (next === undefined || next.metadata.deletionTimestamp !== undefined || !isAfterAdoption(next)) {
      this.#adoptions.delete(uid);
    } else if (old !== undefined && !this.#adoptions.has(uid)) {
      this.#adoptions.set(uid, { sinceMs: this.#clock.now() });
      this.#rate = withBurstEvent(this.#rate, this.#clock.monotonic());
    }
  }
}
