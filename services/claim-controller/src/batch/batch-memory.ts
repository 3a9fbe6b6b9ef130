import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { fillsSlotOf, slotOf } from '@sandlot/blueprint';
import { dropBulk, keyOf } from '@sandlot/kube';
import type { Commitment } from '../adopt/confirm.ts';
import { shownSlots } from './slots.ts';

/** What this process knows of one slot before the watch shows it. */
export interface SlotRecord extends Commitment {
  /** Committed to the slot, as the API server answered. */
  sandbox?: Sandbox | undefined;
}

/** What this process knows of one detached claim. */
interface BatchRecord {
  /** When claiming began, epoch milliseconds. */
  readonly startMs: number;
  readonly slots: Map<number, SlotRecord>;
  /** The newest form of the claim that was ever seen: entries of Sandboxes only grow in number. */
  seen?: SandboxClaim | undefined;
  /** Last write of its status, epoch milliseconds. */
  publishedMs?: number | undefined;
  /** What the pod metadata of its Sandboxes was last brought in line with. */
  synced?: string | undefined;
}

/** A detached claim that is gone and whose Sandboxes have not been looked through yet. */
export interface Ending {
  /** As it was when it was deleted, or as far as it is known. */
  readonly claim: SandboxClaim;
  /** Nothing can have changed after `claim`: what it does not show was never shown by anybody. */
  readonly isFinal: boolean;
}

/** Lost with the process, and never needed: the labels of the Sandboxes are the record. */
export class BatchMemory {
  readonly #byUid = new Map<string, BatchRecord>();
  readonly #endings = new Map<string, readonly Ending[]>();
  /** Of Sandboxes that the watch does not show as committed yet. */
  readonly #placeOf = new Map<string, { readonly claimUid: string; readonly slot: number }>();

  /** The claim's record. Claiming began when its status says, or now. */
  of({ metadata: { uid = '' }, status }: SandboxClaim, nowMs: number): BatchRecord {
    const began = Date.parse(status?.claimStartTime ?? '');
    const record = this.#byUid.get(uid) ?? { startMs: Number.isNaN(began) ? nowMs : began, slots: new Map() };
    this.#byUid.set(uid, record);
    return record;
  }

  /**
   * The claim, or what was seen of it before if that shows more: a watch that is behind, or that repeats itself, must not
   * have a slot filled again whose Sandbox was shown and deleted by its owner.
   */
  keepNewest(claim: SandboxClaim, nowMs: number): SandboxClaim {
    const record = this.of(claim, nowMs);
    if (record.seen !== undefined && shownSlots(record.seen).size > shownSlots(claim).size) return record.seen;
    record.seen = claim;
    return claim;
  }

  /** The slot's record, begun now if there is none. */
  slot(claim: SandboxClaim, slot: number, nowMs: number): SlotRecord {
    const { slots } = this.of(claim, nowMs);
    const record = slots.get(slot) ?? {};
    slots.set(slot, record);
    return record;
  }

  /** Sandboxes committed to slots of the claim that the watch does not show so. */
  unshown({ metadata: { uid = '' } }: SandboxClaim): readonly Sandbox[] {
    const records = [...(this.#byUid.get(uid)?.slots.values() ?? [])];
    return records.flatMap(({ sandbox }) => (sandbox === undefined ? [] : [sandbox]));
  }

  /** Slots with a commit whose fate is unknown. */
  unconfirmed({ metadata: { uid = '' } }: SandboxClaim): readonly (readonly [number, SlotRecord])[] {
    return [...(this.#byUid.get(uid)?.slots ?? [])].filter(([, record]) => record.unconfirmed !== undefined);
  }

  /** The Sandbox fills a slot of the claim, whether or not the watch ever shows it so. */
  assign(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): void {
    const slot = slotOf(sandbox);
    if (slot === undefined) return;
    this.slot(claim, slot, nowMs).sandbox = dropBulk(sandbox);
    this.#placeOf.set(sandbox.metadata.uid ?? '', { claimUid: claim.metadata.uid ?? '', slot });
  }

  /** The same for a commit of an earlier pass, which was made by what claim and template said then. */
  assignConfirmed(claim: SandboxClaim, sandbox: Sandbox, nowMs: number): void {
    this.assign(claim, sandbox, nowMs);
    this.of(claim, nowMs).synced = undefined;
  }

  /** The watch shows a Sandbox: what was remembered of it is no longer needed, if it shows whose it is. */
  sandboxShown(sandbox: Sandbox): void {
    const place = this.#placeOf.get(sandbox.metadata.uid ?? '');
    if (place !== undefined && fillsSlotOf(sandbox, { metadata: { uid: place.claimUid } })) this.sandboxGone(sandbox);
  }

  /** A Sandbox has been deleted, perhaps before the watch ever showed whose it was. */
  sandboxGone({ metadata: { uid = '' } }: Sandbox): void {
    const place = this.#placeOf.get(uid);
    if (place === undefined) return;
    this.#placeOf.delete(uid);
    const slots = this.#byUid.get(place.claimUid)?.slots;
    if (slots?.get(place.slot)?.sandbox?.metadata.uid === uid) slots.delete(place.slot);
  }

  /**
   * The claim is gone; `last` is what was deleted, if the watch told. Remembered by who has worked on it: its next pass
   * does away with what was never shown.
   */
  ended(old: SandboxClaim, last: SandboxClaim | undefined): void {
    if (!this.#byUid.has(old.metadata.uid ?? '')) return;
    const ending = { claim: last ?? old, isFinal: last !== undefined };
    this.#endings.set(keyOf(old), [...this.endings(keyOf(old)), ending]);
  }

  /** Claims of this key that are gone and not done with. */
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
