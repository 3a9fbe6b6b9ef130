import type { NetworkPolicy } from '@sandlot/kube/objects';
import { templateConditions } from '../catalogue/extensions.ts';
import type { SandboxTemplate } from '../objects.ts';
import { findCondition } from './conditions.ts';
import { formatNetworkPolicyName } from './naming.ts';
import { findTemplateUidOfPolicy } from './template-policy.ts';

/**
 * Why no Pod of the template may start yet; undefined when its network rules are in place, or it is Unmanaged. `policy` is
 * what has the name of the template's NetworkPolicy. The condition proves that the rules are those of this generation, and
 * the policy itself that it still exists (docs/reference/sandbox-template.md#network-policy).
 */
export function findNetworkGap(template: SandboxTemplate, policy: NetworkPolicy | undefined): string | undefined {
  if (template.spec.networkPolicyManagement === 'Unmanaged') return undefined;
  return findConditionGap(template) ?? findPolicyGap(template, policy);
}

function findConditionGap({ metadata, status }: SandboxTemplate): string | undefined {
  const ready = findCondition(status?.conditions, templateConditions.networkPolicyReady);
  if (ready === undefined || ready.observedGeneration !== metadata.generation) {
    return 'the warmpool-controller has not written it for this version of the template';
  }
  return ready.status === 'True' ? undefined : ready.message;
}

function findPolicyGap(
  { metadata: { name = '', uid } }: SandboxTemplate,
  policy: NetworkPolicy | undefined,
): string | undefined {
  const isOwn = policy !== undefined && findTemplateUidOfPolicy(policy) === uid;
  if (isOwn && policy.metadata.deletionTimestamp === undefined) return undefined;
  return `NetworkPolicy "${formatNetworkPolicyName(name)}" is missing until the warmpool-controller restores it`;
}
