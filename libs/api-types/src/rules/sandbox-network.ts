import type { NetworkPolicy } from '@sandlot/kube/objects';
import { annotations, labels, protections } from '../catalogue/keys.ts';
import type { Sandbox, SandboxTemplate } from '../objects.ts';
import { AUTHORED_POLICY_NAME, formatBaselineNetworkPolicyName, formatNetworkPolicyName } from './naming.ts';
import { isWithoutTemplate } from './origin.ts';
import { findTemplateOfPolicy } from './template-policy.ts';

/** The NetworkPolicy that must exist before a Pod of a Sandbox starts. */
export interface NeededPolicy {
  readonly name: string;
  /** Its template; undefined for Sandboxes without one. */
  readonly template: string | undefined;
  /**
   * `template`: the template's policy. `baseline`: the one that closes Pods whose own rules are missing. `authored`: the
   * policy of the namespace.
   */
  readonly kind: 'template' | 'baseline' | 'authored';
  /** False if the template may have been Unmanaged: then only the template itself can tell. */
  readonly isCertain: boolean;
}

/** Undefined: Pods of the Sandbox need none. `protectsAuthored`: the installation protects Sandboxes without a template. */
export function findNeededPolicy(sandbox: Sandbox, protectsAuthored: boolean): NeededPolicy | undefined {
  if (isWithoutTemplate(sandbox)) {
    const authored = { name: AUTHORED_POLICY_NAME, template: undefined, kind: 'authored', isCertain: true } as const;
    return protectsAuthored ? authored : undefined;
  }
  const template = sandbox.metadata.annotations?.[annotations.templateRef];
  if (template === undefined) return undefined;
  if (sandbox.metadata.labels?.[labels.network] !== undefined) {
    return { name: formatBaselineNetworkPolicyName(template), template, kind: 'baseline', isCertain: true };
  }
  const isCertain = sandbox.metadata.annotations?.[annotations.networkPolicy] !== undefined;
  return { name: formatNetworkPolicyName(template), template, kind: 'template', isCertain };
}

/**
 * Whether `policy`, which has the name of the needed one, is it. Its rules may be those of an earlier generation of the
 * template, which the Pods that run have too.
 */
export function isPolicyInPlace({ kind, template }: NeededPolicy, policy: NetworkPolicy | undefined): boolean {
  if (policy === undefined || policy.metadata.deletionTimestamp !== undefined) return false;
  if (kind === 'baseline') return true;
  if (kind === 'template') return findTemplateOfPolicy(policy) === template;
  return policy.metadata.labels?.[labels.protects] === protections.authored;
}

/** Why no Pod may start although the needed policy is not in place; undefined: it may, because the template manages none. */
export function findPodNetworkGap(
  { kind, template: name, isCertain }: NeededPolicy,
  template: SandboxTemplate | undefined,
): string | undefined {
  if (kind === 'authored') return 'the warmpool-controller creates it; if another policy has that name, delete it';
  if (template === undefined) {
    return isCertain
      ? `create SandboxTemplate "${name ?? ''}" again, with the rules that the Pod is to have`
      : undefined;
  }
  if (kind === 'template' && template.spec.networkPolicyManagement === 'Unmanaged') return undefined;
  return 'the controllers restore it; conditions of the template and the claim say what keeps them from it';
}
