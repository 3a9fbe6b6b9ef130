import { annotations, findTemplateOfPolicy, findTemplateUidOfPolicy, labels, protections } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import type { RetainedSnapshot } from './snapshot.ts';

/** What happens to one policy of a template that is gone. */
export type RetainedStep =
  | { readonly kind: 'keep' }
  | { readonly kind: 'restore'; readonly policy: NetworkPolicy }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Deletes it, unless the API server still shows a Sandbox or a Pod that it protects. */
  | { readonly kind: 'collect'; readonly present: NetworkPolicy };

/**
 * How long there must be no Sandbox before the policy goes. A claim-controller that does not see yet that the template is
 * gone may create one meanwhile.
 */
export const SETTLE_MS = 30_000;

/** A policy outlives its template while Sandboxes of it exist (docs/reference/sandbox-template.md#network-policy). */
export function decideRetained(snapshot: RetainedSnapshot): RetainedStep {
  const { template, present, deleted, hasSandboxes, unusedMs } = snapshot;
  if (present === undefined) {
    return hasSandboxes && deleted !== undefined
      ? { kind: 'restore', policy: buildRestored(deleted) }
      : { kind: 'keep' };
  }
  const isOurs = findTemplateOfPolicy(present) === template;
  if (!isOurs || hasSandboxes || present.metadata.deletionTimestamp !== undefined) return { kind: 'keep' };
  return unusedMs < SETTLE_MS ? { kind: 'wait', ms: SETTLE_MS - unusedMs } : { kind: 'collect', present };
}

/** With its rules and marks, and without the owner that it had in earlier releases. */
function buildRestored(policy: NetworkPolicy): NetworkPolicy {
  const { namespace, name, labels: kept, annotations: notes } = policy.metadata;
  const uid = findTemplateUidOfPolicy(policy);
  return {
    metadata: {
      namespace,
      name,
      labels: { ...kept, [labels.protects]: protections.template },
      annotations: { ...notes, ...(uid === undefined ? {} : { [annotations.templateUid]: uid }) },
    },
    spec: policy.spec,
  };
}
