import { EXTENSIONS_GROUP } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import { controllerOf } from '@sandlot/kube';
import type { NetworkPolicy } from '@sandlot/kube';
import { sameSpec } from './network/difference.ts';
import { rulesOf, templatePolicy } from './network/policy.ts';
import type { OwnPolicy } from './network/policy.ts';
import { NO_TRAFFIC } from './network/rules.ts';
import type { TemplateSnapshot } from './snapshot.ts';

/** What is to be done about the NetworkPolicy of a template, or why nothing is. */
export type PolicyStep =
  | { readonly kind: 'create'; readonly wanted: OwnPolicy }
  /** Guarded by resourceVersion: whoever changes it meanwhile is looked at first. */
  | { readonly kind: 'replace'; readonly present: NetworkPolicy; readonly wanted: OwnPolicy }
  | { readonly kind: 'delete'; readonly present: NetworkPolicy }
  | { readonly kind: 'keep'; readonly because: 'applied' | 'unmanaged' | 'refused' }
  /** Somebody else's policy has the name. */
  | { readonly kind: 'leave'; readonly present: NetworkPolicy }
  /** Ours, on its way out: it can be made again when it is gone, which the watch shows. */
  | { readonly kind: 'await' };

/** The next step towards the policy a template asks for (API contract, network policy). */
export function decidePolicy(snapshot: TemplateSnapshot): PolicyStep {
  const { template, policy } = snapshot;
  const isOwn = policy !== undefined && isControlledBy(policy, template);
  if (template.spec.networkPolicyManagement === 'Unmanaged') {
    const isLeft = !isOwn || policy.metadata.deletionTimestamp !== undefined;
    return isLeft ? { kind: 'keep', because: 'unmanaged' } : { kind: 'delete', present: policy };
  }
  if (policy === undefined) return { kind: 'create', wanted: wantedPolicy(snapshot) };
  if (!isOwn) return { kind: 'leave', present: policy };
  return policy.metadata.deletionTimestamp === undefined ? kept(snapshot, policy) : { kind: 'await' };
}

/** Rules that were refused are never an open door: what was accepted before stays, or else nothing passes. */
function wantedPolicy({ template, network, refusal }: TemplateSnapshot): OwnPolicy {
  return templatePolicy(template, refusal === undefined ? rulesOf(template, network) : NO_TRAFFIC);
}

function kept(snapshot: TemplateSnapshot, present: NetworkPolicy): PolicyStep {
  if (snapshot.refusal !== undefined) return { kind: 'keep', because: 'refused' };
  const wanted = wantedPolicy(snapshot);
  const holdsItsOwner = controllerOf(present)?.blockOwnerDeletion === true;
  if (holdsItsOwner && sameSpec(present.spec ?? {}, wanted.spec)) return { kind: 'keep', because: 'applied' };
  return { kind: 'replace', present, wanted };
}

/** Group, kind and UID say it; the version may be another one. */
function isControlledBy(policy: NetworkPolicy, { metadata }: SandboxTemplate): boolean {
  const owner = controllerOf(policy);
  if (owner === undefined) return false;
  const isTemplate = owner.kind === 'SandboxTemplate' && owner.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`);
  return isTemplate && owner.uid === metadata.uid;
}
