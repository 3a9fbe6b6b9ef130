import type { KubeObject, OwnerReference } from '@sandlot/kube/objects';

/** Controller reference that blocks the owner's foreground deletion, as every link of the chain must. */
export function ownedBy(owner: KubeObject): OwnerReference {
  const { apiVersion = '', kind = '', metadata } = owner;
  return {
    apiVersion,
    kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}
