import type { Sandbox } from '@sandlot/api-types';
import { computeFairDelayMs, pacing } from '@sandlot/pacing';
import type { Clock } from '@sandlot/std';
import { isAfterAdoption } from './priority.ts';

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

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Grants an adopted Sandbox its status hold, once: later adoptions do not prolong it. Call it in every pass. */
  grant({ metadata: { uid = '' } }: Sandbox): void {
    const adoption = this.#adoptions.get(uid);
    if (adoption === undefined) return;
    const { perAdoptionMs: perItemMs, longestMs } = pacing.adoptionStatus;
    adoption.statusUntilMs ??= adoption.sinceMs + computeFairDelayMs(this.#adoptions.size, { perItemMs, longestMs });
  }

  /** Until when the status need not show the new generation, wall time in milliseconds; undefined: it is not held. */
  statusHoldUntilMs({ metadata: { uid = '' } }: Sandbox): number | undefined {
    return this.#adoptions.get(uid)?.statusUntilMs;
  }

  /** Call it with every change of the cache of Sandboxes. */
  onSandboxChange({ old, next }: { readonly old: Sandbox | undefined; readonly next: Sandbox | undefined }): void {
    const uid = (next ?? old)?.metadata.uid ?? '';
    if (next === undefined || next.metadata.deletionTimestamp !== undefined || !isAfterAdoption(next)) {
      this.#adoptions.delete(uid);
    } else if (old !== undefined && !this.#adoptions.has(uid)) {
      this.#adoptions.set(uid, { sinceMs: this.#clock.now() });
    }
  }
}
