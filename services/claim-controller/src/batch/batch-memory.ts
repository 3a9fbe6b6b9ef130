import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { fillsSlotOf, slotOf } from '@sandlot/blueprint';
import { dropBulk, keyOf } from '@sandlot/kube';
import type { Commitment } from '../adopt/confirm.ts';
import { shownSlots } from './slots.ts';

/** What this process knows about one slot before the watch shows it. */
export interface SlotRecord extends Commitment {
  /** The Sandbox that this process committed to the slot, as the API server answered. */
  sandbox?: Sandbox | undefined;
}

/** What this process knows about one detached claim. */
interface BatchRecord {
  /** When claiming began, epoch milliseconds. */
  readonly startMs: number;
  readonly slots: Map<number, SlotRecord>;
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
  /** By UID: the slots of Sandboxes that the watch does not show as committed yet. */
  readonly #placeOf = new Map<string, { readonly claimUid: string; readonly slot: number }>();

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
    if (record.seen !== undefined && shownSlots(record.seen).size > shownSlots(claim).size) return record.seen;
    record.seen = claim;
    return claim;
  }

  /** The slot's record, which the first call creates. */
  slot(claim: SandboxClaim, slot: number, nowMs: number): SlotRecord {
    const { slots } = this.of(claim, nowMs);
    const record = slots.get(slot) ?? {};
    slots.set(slot, record);
    return record;
  }

  /** Sandboxes in slots of the claim whose commit the watch does not show yet. */
  unshown({ metadata: { uid = '' } }: SandboxClaim): readonly Sandbox[] {
    const records = [...(this.#byUid.get(uid)?.slots.values() ?? [])];
    return records.flatMap(({ sandbox }) => (sandbox === undefined ? [] : [sandbox]));
  }

  /** Slots with an adoption whose outcome is unknown. */
  unconfirmed({ metadata: { uid = '' } }: SandboxClaim): readonly (readonly [number, SlotRecord])[] {
    return [...(this.#byUid.get(uid)?.slots ?? [])].filter(([, record]) => record.unconfirmed !== undefined);
  }

  /** The Sandbox fills a slot of the claim from now on, whatever the watch shows. */
  assign(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): void {
    const slot = slotOf(sandbox);
    if (slot === undefined) return;
    this.slot(claim, slot, nowMs).sandbox = dropBulk(sandbox);
    this.#placeOf.set(sandbox.metadata.uid ?? '', { claimUid: claim.metadata.uid ?? '', slot });
  }

  /** The same for a confirmed adoption of an earlier pass, whose pod metadata may be out of date. */
  assignConfirmed(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): void {
    this.assign(claim, sandbox, nowMs);
    this.of(claim, nowMs).synced = undefined;
  }

  /** The watch shows a Sandbox: forgets the assignment once the watch shows the slot too. */
  sandboxShown(sandbox: Sandbox): void {
    const place = this.#placeOf.get(sandbox.metadata.uid ?? '');
    if (place !== undefined && fillsSlotOf(sandbox, { metadata: { uid: place.claimUid } })) this.sandboxGone(sandbox);
  }

  /** The Sandbox is deleted, perhaps before the watch ever showed its slot. */
  sandboxGone({ metadata: { uid = '' } }: Sandbox): void {
    const place = this.#placeOf.get(uid);
    if (place === undefined) return;
    this.#placeOf.delete(uid);
    const slots = this.#byUid.get(place.claimUid)?.slots;
    if (slots?.get(place.slot)?.sandbox?.metadata.uid === uid) slots.delete(place.slot);
  }

  /**
   * The claim is gone; `last` is its form at the deletion, if the watch showed it. If this process has worked on the claim,
   * its next pass deletes the Sandboxes that it never showed.
   */
  recordEnd(old: SandboxClaim, last: SandboxClaim | undefined): void {
    if (!this.#byUid.has(old.metadata.uid ?? '')) return;
    const ending = { claim: last ?? old, isFinal: last !== undefined };
    this.#endings.set(keyOf(old), [...this.endings(keyOf(old)), ending]);
  }

  /** Deleted claims of this key whose Sandboxes are not cleaned up yet. */
  endings(claimKey: string): readonly Ending[] {
    return this.#endings.get(claimKey) ?? [];
  }

  close({ claim }: Ending): void {
    const later = this.endings(keyOf(claim)).filter((ending) => ending.claim !== claim);
    if (later.length === 0) this.#endings.delete(keyOf(claim));
    else this.#endings.set(keyOf(claim), later);
    this.forget(claim);
  }

  forget(claim: SandboxClaim): void {
    for (const { metadata } of this.unshown(claim)) this.#placeOf.delete(metadata.uid ?? '');
    this.#byUid.delete(claim.metadata.uid ?? '');
  }
}
