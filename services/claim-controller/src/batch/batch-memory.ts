import type { SandboxClaim } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube';
import type { Commitment } from '../adopt/confirm.ts';
import { mapShownSlots } from './slots.ts';

/** What this process knows about one detached claim. */
interface BatchRecord {
  /** When claiming began, epoch milliseconds. */
  readonly startMs: number;
  readonly slots: Map<number, Commitment>;
  /** The newest form of the claim seen so far, by the number of its delivered slots, which only grows. */
  seen?: SandboxClaim | undefined;
  /** When this process last wrote the claim's status, epoch milliseconds. */
  publishedMs?: number | undefined;
  /** The form of claim and template with which the pod metadata of its Sandboxes was last synced. */
  synced?: string | undefined;
}

/** A deleted detached claim whose unpublished Sandboxes are not deleted yet. */
export interface Ending {
  /** As it was when it was deleted, or its last known form. */
  readonly claim: SandboxClaim;
  /** Whether `claim` is its form at the deletion: then no client has seen a Sandbox that it does not show. */
  readonly isFinal: boolean;
}

/** What this process knows about detached claims. Losing it does no harm: the labels of the Sandboxes are the record. */
export class BatchMemory {
  readonly #byUid = new Map<string, BatchRecord>();
  readonly #endings = new Map<string, readonly Ending[]>();

  /** The claim's record, which the first call creates. Claiming began at the time in its status, or now. */
  of({ metadata: { uid = '' }, status }: SandboxClaim, nowMs: number): BatchRecord {
    const began = Date.parse(status?.claimStartTime ?? '');
    const record = this.#byUid.get(uid) ?? { startMs: Number.isNaN(began) ? nowMs : began, slots: new Map() };
    this.#byUid.set(uid, record);
    return record;
  }

  /**
   * Keeps the form of the claim with the most delivered slots, and returns it. A watch that is behind or replays events must
   * not refill a slot whose Sandbox a user has deleted after the delivery.
   */
  keepNewest(claim: SandboxClaim, nowMs: number): SandboxClaim {
    const record = this.of(claim, nowMs);
    if (record.seen !== undefined && mapShownSlots(record.seen).size > mapShownSlots(claim).size) return record.seen;
    record.seen = claim;
    return claim;
  }

  /** The slot's record, which the first call creates. */
  slot(claim: SandboxClaim, slot: number, nowMs: number): Commitment {
    const { slots } = this.of(claim, nowMs);
    const record = slots.get(slot) ?? {};
    slots.set(slot, record);
    return record;
  }

  /** Slots with an adoption whose outcome is unknown. */
  unconfirmed({ metadata: { uid = '' } }: SandboxClaim): readonly (readonly [number, Commitment])[] {
    return [...(this.#byUid.get(uid)?.slots ?? [])].filter(([, record]) => record.unconfirmed !== undefined);
  }

  /** The next pass has to find out whether this Sandbox fills the slot. False when the claim is gone. */
  markUnconfirmed(claimUid: string, slot: number, sandboxKey: string): boolean {
    const slots = this.#byUid.get(claimUid)?.slots;
    slots?.set(slot, { unconfirmed: sandboxKey });
    return slots !== undefined;
  }

  /** A Sandbox of an earlier pass turned out to fill a slot: its pod metadata may be out of date. */
  requireSync(claim: SandboxClaim, nowMs: number): void {
    this.of(claim, nowMs).synced = undefined;
  }

  /**
   * The claim is gone; `last` is its form at the deletion, if the watch showed it. If this process has worked on the claim,
   * its next pass deletes the Sandboxes that it never showed.
   */
  recordEnd(old: SandboxClaim, last: SandboxClaim | undefined): void {
    if (!this.#byUid.has(old.metadata.uid ?? '')) return;
    const ending = { claim: last ?? old, isFinal: last !== undefined };
    this.#endings.set(getKey(old), [...this.endings(getKey(old)), ending]);
  }

  /** Deleted claims of this key whose Sandboxes are not cleaned up yet. */
  endings(claimKey: string): readonly Ending[] {
    return this.#endings.get(claimKey) ?? [];
  }

  close({ claim }: Ending): void {
    const later = this.endings(getKey(claim)).filter((ending) => ending.claim !== claim);
    if (later.length === 0) this.#endings.delete(getKey(claim));
    else this.#endings.set(getKey(claim), later);
    this.forget(claim);
  }

  forget(claim: SandboxClaim): void {
    this.#byUid.delete(claim.metadata.uid ?? '');
  }
}
