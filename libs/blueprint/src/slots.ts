import { annotations, claimNameLabel, hasOwnNetwork, labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxSpec } from '@sandlot/api-types';
import { controllerOf } from '@sandlot/kube/objects';
import type { OwnerReference } from '@sandlot/kube/objects';
import { ownedBy } from './owner.ts';

type Strings = Readonly<Record<string, string>>;

/** How a Sandbox says whose it is. */
export interface Custody {
  readonly ownerReferences: OwnerReference[];
  readonly labels: Strings;
  readonly annotations: Strings;
  /** Lifetime that the claim hands on. */
  readonly spec: Partial<SandboxSpec>;
}

/**
 * A bound claim owns its Sandbox. A Sandbox of a detached claim is owned by nobody: slot and claim UID on it are the whole
 * record of who it was delivered to.
 */
export function custodyOf(claim: SandboxClaim, slot: number | undefined): Custody {
  if (slot === undefined) {
    return { ownerReferences: [ownedBy(claim)], labels: networkLabels(claim), annotations: {}, spec: {} };
  }
  const name = claim.metadata.name ?? '';
  const label = claimNameLabel(name);
  return {
    ownerReferences: [],
    labels: { [labels.claimName]: label, [labels.claimSlot]: String(slot) },
    annotations: label === name ? {} : { [annotations.claimName]: name },
    spec: slotLifecycle(claim),
  };
}

/** On the Sandbox and in its podTemplate, where it makes a generation: the Pod leaves its template's rules by it. */
export function networkLabels(claim: SandboxClaim): Strings {
  return hasOwnNetwork(claim) ? { [labels.network]: 'own' } : {};
}

/** Slot of a detached claim that a Sandbox fills; undefined when it fills none. */
export function slotOf({ metadata }: Sandbox): number | undefined {
  const text = metadata.labels?.[labels.claimSlot];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Name of the detached claim that a Sandbox was delivered to, whole; undefined when there is none. */
export function claimNameOf({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[annotations.claimName] ?? metadata.labels?.[labels.claimName];
}

/** Whether the Sandbox fills a slot of exactly this claim: by UID and label, owned by nobody. */
export function fillsSlotOf(sandbox: Sandbox, claim: Pick<SandboxClaim, 'metadata'>): boolean {
  if (controllerOf(sandbox) !== undefined || slotOf(sandbox) === undefined) return false;
  return sandbox.metadata.labels?.[labels.claimUid] === claim.metadata.uid;
}

/** The claim's lifetime as each of its delivered Sandboxes carries it (API contract, bound and detached claims). */
function slotLifecycle({ spec: { lifecycle } }: SandboxClaim): Partial<SandboxSpec> {
  const { shutdownTime, ttlSecondsAfterFinished } = lifecycle ?? {};
  if (shutdownTime === undefined && ttlSecondsAfterFinished === undefined) return {};
  return {
    shutdownPolicy: 'Delete',
    ...(shutdownTime === undefined ? {} : { shutdownTime }),
    ...(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }),
  };
}
