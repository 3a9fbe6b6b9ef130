import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { fillsSlotOf, findSlot } from '@sandlot/blueprint';
import { findController } from '@sandlot/kube';

/** What a Sandbox is committed to. */
export interface CommitTarget {
  readonly claim: SandboxClaim;
  /** Slot of a detached claim. */
  readonly slot?: number | undefined;
}

type Identity = Omit<CommitTarget, 'claim'> & { readonly claim: Pick<SandboxClaim, 'metadata'> };

/** Whether the Sandbox is committed to the claim, or to this slot of it. */
export function isCommitted(sandbox: Sandbox, { claim, slot }: Identity): boolean {
  if (slot === undefined) return isOwnedBy(sandbox, claim);
  return fillsSlotOf(sandbox, claim) && findSlot(sandbox) === slot;
}

/** Whether the claim controls this Sandbox: by UID, whichever API version the owner reference names. */
export function isOwnedBy(sandbox: Sandbox, claim: Pick<SandboxClaim, 'metadata'>): boolean {
  return findController(sandbox)?.uid === claim.metadata.uid;
}
