import { findController } from '@sandlot/kube/objects';
import type { NetworkPolicy, OwnerReference } from '@sandlot/kube/objects';
import { annotations, labels, protections } from '../catalogue/keys.ts';
import { EXTENSIONS_GROUP } from '../objects.ts';
import { parseNetworkPolicyName } from './naming.ts';

/**
 * Name of the template whose NetworkPolicy or baseline this is, whether or not the template still exists; undefined for a
 * policy that someone else made. The label says so. In earlier releases the template was the owner instead, and garbage
 * collection deleted the policy with it.
 */
export function findTemplateOfPolicy(policy: NetworkPolicy): string | undefined {
  const name = parseNetworkPolicyName(policy.metadata.name ?? '');
  if (policy.metadata.labels?.[labels.protects] === protections.template) return name;
  return findOwningTemplate(policy)?.name === name ? name : undefined;
}

/** UID of the template that the rules of its policy come from. A later template of that name has another one. */
export function findTemplateUidOfPolicy(policy: NetworkPolicy): string | undefined {
  if (findTemplateOfPolicy(policy) === undefined) return undefined;
  return policy.metadata.annotations?.[annotations.templateUid] ?? findOwningTemplate(policy)?.uid;
}

/** Whether a template is among the owners, so that garbage collection may delete the policy with it. */
export function isOwnedByTemplate({ metadata }: NetworkPolicy): boolean {
  return (metadata.ownerReferences ?? []).some(isTemplate);
}

function findOwningTemplate(policy: NetworkPolicy): OwnerReference | undefined {
  const owner = findController(policy);
  return owner !== undefined && isTemplate(owner) ? owner : undefined;
}

/** By group and kind: the reference may have another version. */
function isTemplate({ apiVersion, kind }: OwnerReference): boolean {
  return kind === 'SandboxTemplate' && apiVersion.startsWith(`${EXTENSIONS_GROUP}/`);
}
