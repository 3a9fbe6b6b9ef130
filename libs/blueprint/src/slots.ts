import { annotations, claimNameLabel, findApiKey, hasOwnNetwork, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxSpec } from '@sandlot/api-types';
import { findController } from '@sandlot/kube/objects';
import type { OwnerReference } from '@sandlot/kube/objects';
import { ownedBy } from './owner.ts';

/** Garbage collection follows the reference, and no controller takes the object for its own. */
const WITHOUT_CONTROL = { controller: false, blockOwnerDeletion: false } as const;

type Strings = Readonly<Record<string, string>>;

/** The metadata by which a Sandbox shows whose it is. */
export interface Custody {
  readonly ownerReferences: OwnerReference[];
  readonly labels: Strings;
  readonly annotations: Strings;
  /** The lifetime that the claim passes to its Sandbox. */
  readonly spec: Partial<SandboxSpec>;
}

/**
 * A bound claim owns its Sandbox. A Sandbox of a detached claim has no controller: its labels, slot and claim UID, are the only
 * record of the delivery. A claim of an API key is the only handle by which its holder finds and deletes the Sandboxes, so
 * garbage collection deletes them with the claim.
 */
export function buildCustody(claim: SandboxClaim, slot: number | undefined): Custody {
  if (slot === undefined) {
    return { ownerReferences: [ownedBy(claim)], labels: buildNetworkLabels(claim), annotations: {}, spec: {} };
  }
  const name = claim.metadata.name ?? '';
  const label = claimNameLabel(name);
  return {
    ownerReferences: findApiKey(claim) === undefined ? [] : [{ ...ownedBy(claim), ...WITHOUT_CONTROL }],
    labels: { [labels.claimName]: label, [labels.claimSlot]: String(slot) },
    annotations: label === name ? {} : { [annotations.claimName]: name },
    spec: buildSlotLifecycle(claim),
  };
}

/**
 * Labels that take the Pod out of its template's network rules. They are on the Sandbox and in its podTemplate, where they
 * cause a new generation.
 */
export function buildNetworkLabels(claim: SandboxClaim): Strings {
  return hasOwnNetwork(claim) ? { [labels.network]: 'own' } : {};
}

/** The slot of a detached claim that the Sandbox fills; undefined when it fills none. */
export function findSlot({ metadata }: Sandbox): number | undefined {
  const text = metadata.labels?.[labels.claimSlot];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** The full name of the detached claim that the Sandbox was delivered to; undefined when there is none. */
export function findClaimName({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[annotations.claimName] ?? metadata.labels?.[labels.claimName];
}

/** Whether the Sandbox fills a slot of exactly this claim: it has its UID as a label, and no controller. */
export function fillsSlotOf(sandbox: Sandbox, claim: Pick<SandboxClaim, 'metadata'>): boolean {
  if (findController(sandbox) !== undefined || findSlot(sandbox) === undefined) return false;
  return sandbox.metadata.labels?.[labels.claimUid] === claim.metadata.uid;
}

/** The claim's lifetime for each of its delivered Sandboxes (docs/reference/sandbox-claim.md#bound-and-detached-claims). */
function buildSlotLifecycle({ spec: { lifecycle } }: SandboxClaim): Partial<SandboxSpec> {
  const { shutdownTime, ttlSecondsAfterFinished } = lifecycle ?? {};
  if (shutdownTime === undefined && ttlSecondsAfterFinished === undefined) return {};
  return {
    shutdownPolicy: 'Delete',
    ...(shutdownTime === undefined ? {} : { shutdownTime }),
    ...(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }),
  };
}
