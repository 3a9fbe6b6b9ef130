import type { KubeObject } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { annotations, labels } from '../catalogue/keys.ts';
import type { Sandbox, SandboxClaimSpec, SandboxSpec } from '../objects.ts';

/** Desired mode of a Sandbox: `replicas` if set, else `operatingMode`, else Running. */
export function resolveMode(spec: Pick<SandboxSpec, 'replicas' | 'operatingMode'>): 'Running' | 'Suspended' {
  if (spec.replicas !== undefined) return spec.replicas === 0 ? 'Suspended' : 'Running';
  return spec.operatingMode ?? 'Running';
}

/** Mode of a claim (docs/reference/sandbox-claim.md#bound-and-detached-claims); stored in status on the first pass. */
export function resolveClaimMode(
  spec: Pick<SandboxClaimSpec, 'replicas' | 'ttlSecondsAfterCompleted'>,
): 'Bound' | 'Detached' {
  return (spec.replicas ?? 1) > 1 || spec.ttlSecondsAfterCompleted !== undefined ? 'Detached' : 'Bound';
}

/** Name of a Sandbox's Pod: the annotation of an adopted one, else the Sandbox's own name. */
export function getPodName(sandbox: Sandbox): string {
  const annotated = sandbox.metadata.annotations?.[annotations.podName];
  return annotated === undefined || annotated === '' ? (sandbox.metadata.name ?? '') : annotated;
}

/** Name of the PVC of one template entry, as a StatefulSet would name it. */
export function formatDiskName(templateName: string, sandboxName: string): string {
  return `${templateName}-${sandboxName}`;
}

/** So that the whole name is at most 253 characters. */
const KEPT_FOR_A_KEY = 236;

/**
 * Name of the Secret with the key of a Sandbox. The hash of the public key is part of it: a new Sandbox of the name, or a
 * new seed, never finds the Secret of another key in its place.
 */
export function formatKeySecretName(sandboxName: string, publicKeyHash: string): string {
  const kept = sandboxName.slice(0, KEPT_FOR_A_KEY).replace(/[.-]+$/, '');
  return `${kept}-runtime-${nameHash(publicKeyHash)}`;
}

/** DNS name of a Sandbox's headless Service; `clusterDomain` is usually `cluster.local`. */
export function formatServiceFQDN(sandbox: KubeObject, clusterDomain: string): string {
  return `${sandbox.metadata.name ?? ''}.${sandbox.metadata.namespace ?? ''}.svc.${clusterDomain}`;
}

/** Name of a namespace's policy for Sandboxes without a template. No template's policy can have this name. */
export const AUTHORED_POLICY_NAME = 'sandlot-authored-sandboxes';

const POLICY_SUFFIX = '-network-policy';
const BASELINE_SUFFIX = '-network-baseline';

/** Name of the NetworkPolicy shared by the sandboxes of a template. */
export function formatNetworkPolicyName(templateName: string): string {
  return `${templateName}${POLICY_SUFFIX}`;
}

/** The template whose NetworkPolicy, or baseline, would have this name; undefined when none would. */
export function parseNetworkPolicyName(policyName: string): string | undefined {
  const suffix = [POLICY_SUFFIX, BASELINE_SUFFIX].find((end) => policyName.endsWith(end));
  return suffix === undefined ? undefined : policyName.slice(0, -suffix.length);
}

/** `status.selector` of a Sandbox, and the selector of its Service. */
export function nameHashSelector(sandboxName: string): string {
  return `${labels.nameHash}=${nameHash(sandboxName)}`;
}

/** `status.selector` of a pool. */
export function formatWarmPoolSelector(poolName: string): string {
  return `${labels.warmPoolMember}=${nameHash(poolName)}`;
}

/** Name of the NetworkPolicy of a claim's Sandbox that has egress rules of its own. */
export function ownNetworkPolicyName(claimName: string): string {
  return `${claimName}-network`;
}

/**
 * Name of the NetworkPolicy that denies all egress to a template's Sandboxes with rules of their own. It takes effect when
 * those rules are deleted.
 */
export function formatBaselineNetworkPolicyName(templateName: string): string {
  return `${templateName}${BASELINE_SUFFIX}`;
}

const LABEL_VALUE_LIMIT = 63;
const KEPT_OF_A_LONG_NAME = 54;

/** Value of the label `sandlot.dev/claim-name`: the name, or its first 54 characters, `-` and its NameHash. */
export function claimNameLabel(claimName: string): string {
  if (claimName.length <= LABEL_VALUE_LIMIT) return claimName;
  return `${claimName.slice(0, KEPT_OF_A_LONG_NAME)}-${nameHash(claimName)}`;
}
