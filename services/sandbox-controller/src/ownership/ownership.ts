import { CORE_GROUP, EXTENSIONS_GROUP, labels, nameHash } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { findController } from '@sandlot/kube/objects';
import type { JsonObject, KubeObject, OwnerReference } from '@sandlot/kube/objects';

/** How a child of the right name relates to the Sandbox. Only the UID of the controller proves ownership. */
export type Ownership = 'ours' | 'unowned' | 'foreign';

/** Whether `sandbox`, nothing, or another object controls `child`. */
export function getOwnership(child: KubeObject, sandbox: Sandbox): Ownership {
  const controller = findController(child);
  if (controller === undefined) return 'unowned';
  return controller.uid === sandbox.metadata.uid ? 'ours' : 'foreign';
}

/**
 * The one owner reference of every child: docs/reference/sandbox.md#ownership. `blockOwnerDeletion` makes a foreground
 * deletion wait for the child.
 */
export function buildOwnerReference(sandbox: Sandbox): OwnerReference {
  return {
    apiVersion: `${CORE_GROUP}/v1beta1`,
    kind: 'Sandbox',
    name: sandbox.metadata.name ?? '',
    uid: sandbox.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The label by which the controller finds the children of a Sandbox. Hashes collide, so it never proves ownership. */
export function buildTrackingLabel(sandbox: Sandbox): Record<string, string> {
  return { [labels.nameHash]: nameHash(sandbox.metadata.name ?? '') };
}

/** Whether a user created the Sandbox, not a claim or a pool. The claim-controller never speaks to its daemon. */
export function isAuthored(sandbox: Sandbox): boolean {
  const { labels: given = {} } = sandbox.metadata;
  // A Sandbox of a detached claim has no owner.
  if (given[labels.claimUid] !== undefined || given[labels.claimName] !== undefined) return false;
  return findController(sandbox)?.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`) !== true;
}

export type ChildNoun = 'pod' | 'service' | 'PVC';

/** Why `child` must be left alone; undefined when it is ours or may be taken over: docs/reference/sandbox.md#ownership. */
export function findRefusal(noun: ChildNoun, child: KubeObject, sandbox: Sandbox): string | undefined {
  const name = child.metadata.name ?? '';
  const owner = findController(child);
  if (owner !== undefined) {
    if (owner.uid === sandbox.metadata.uid) return undefined;
    const holder = `${owner.kind}/${owner.name} (UID: ${owner.uid})`;
    return `${noun} "${name}" is owned by ${holder}, not by sandbox "${sandbox.metadata.name ?? ''}"`;
  }
  if (mayBeTakenOver(child, sandbox)) return undefined;
  return (
    `cannot adopt unowned ${noun} "${name}": missing required pool authorization label ("${labels.adoptable}") ` +
    `or sandbox tracking label ("${labels.nameHash}")`
  );
}

function mayBeTakenOver(child: KubeObject, sandbox: Sandbox): boolean {
  const given = child.metadata.labels ?? {};
  return given[labels.adoptable] === 'true' || given[labels.nameHash] === nameHash(sandbox.metadata.name ?? '');
}

/**
 * Metadata of a merge patch that makes `child` ours. The patch replaces the whole list of owners, so it is guarded by
 * resourceVersion: it must fail when somebody adds an owner meanwhile.
 */
export function takeOver(child: KubeObject, sandbox: Sandbox): JsonObject {
  return buildGuardedOwners(child, [...listOtherOwners(child, sandbox), buildOwnerReference(sandbox)]);
}

/** The opposite of {@link takeOver}, guarded alike: garbage collection no longer deletes `child` with the Sandbox. */
export function release(child: KubeObject, sandbox: Sandbox): JsonObject {
  return buildGuardedOwners(child, listOtherOwners(child, sandbox));
}

function buildGuardedOwners({ metadata }: KubeObject, owners: readonly OwnerReference[]): JsonObject {
  const ownerReferences = owners.map((owner) => ({ ...owner }));
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion, ownerReferences };
}

function listOtherOwners(child: KubeObject, sandbox: Sandbox): OwnerReference[] {
  return (child.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== sandbox.metadata.uid);
}
