import { CORE_GROUP, EXTENSIONS_GROUP, labels, nameHash } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { controllerOf } from '@sandlot/kube';
import type { JsonObject, KubeObject, OwnerReference } from '@sandlot/kube';

/** How a child of the right name relates to the Sandbox. Ownership is proven by UID alone. */
export type Ownership = 'ours' | 'unowned' | 'foreign';

/** Who controls `child`, seen from `sandbox`. */
export function ownershipOf(child: KubeObject, sandbox: Sandbox): Ownership {
  const controller = controllerOf(child);
  if (controller === undefined) return 'unowned';
  return controller.uid === sandbox.metadata.uid ? 'ours' : 'foreign';
}

/**
 * The one reference every child carries. `blockOwnerDeletion` lets a foreground deletion wait for the child
 * (API contract, ownership).
 */
export function ownerReference(sandbox: Sandbox): OwnerReference {
  return {
    apiVersion: `${CORE_GROUP}/v1beta1`,
    kind: 'Sandbox',
    name: sandbox.metadata.name ?? '',
    uid: sandbox.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The label that finds the children of a Sandbox. It never proves ownership: hashes collide. */
export function trackingLabel(sandbox: Sandbox): Record<string, string> {
  return { [labels.nameHash]: nameHash(sandbox.metadata.name ?? '') };
}

/** Whether the Sandbox was made by its owner and not by a claim or a pool: no claim-controller will ever speak to its daemon. */
export function isAuthored(sandbox: Sandbox): boolean {
  const { labels: given = {} } = sandbox.metadata;
  // A member of a batch has no owner.
  if (given[labels.claimUid] !== undefined || given[labels.claimName] !== undefined) return false;
  return controllerOf(sandbox)?.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`) !== true;
}

export type ChildNoun = 'pod' | 'service' | 'PVC';

/** Why `child` must be left alone; undefined when it is ours or may be taken over (API contract, ownership). */
export function refusalOf(noun: ChildNoun, child: KubeObject, sandbox: Sandbox): string | undefined {
  const name = child.metadata.name ?? '';
  const owner = controllerOf(child);
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
 * Metadata of a merge patch that makes `child` ours. Guarded by resourceVersion: the list of owners is replaced whole, so
 * an owner added meanwhile must make the patch fail.
 */
export function takeOver(child: KubeObject, sandbox: Sandbox): JsonObject {
  return guarded(child, [...ownersBesides(child, sandbox), ownerReference(sandbox)]);
}

/** The opposite of {@link takeOver}, guarded alike: garbage collection no longer follows the Sandbox to `child`. */
export function release(child: KubeObject, sandbox: Sandbox): JsonObject {
  return guarded(child, ownersBesides(child, sandbox));
}

function guarded({ metadata }: KubeObject, owners: readonly OwnerReference[]): JsonObject {
  const ownerReferences = owners.map((owner) => ({ ...owner }));
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion, ownerReferences };
}

function ownersBesides(child: KubeObject, sandbox: Sandbox): OwnerReference[] {
  return (child.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== sandbox.metadata.uid);
}
