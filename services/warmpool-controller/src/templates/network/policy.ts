import {
  annotations,
  AUTHORED_POLICY_NAME,
  formatNetworkPolicyName,
  isOwnedByTemplate,
  labels,
  nameHash,
  protections,
} from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate } from '@sandlot/api-types';
import type { NetworkPolicy, OwnerReference } from '@sandlot/kube';
import { formatEgressNote, withEgressProxy, withProofRule } from './egress.ts';
import { buildDefaultRules } from './rules.ts';
import type { Rules } from './rules.ts';
import type { NetworkSettings } from './settings.ts';

export type PolicySpec = Rules & {
  readonly podSelector: {
    readonly matchLabels?: Record<string, string>;
    readonly matchExpressions?: { key: string; operator: string }[];
  };
  readonly policyTypes: string[];
};

/** A NetworkPolicy as the controller writes it. */
export interface OwnPolicy {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels: Record<string, string>;
    readonly annotations?: Record<string, string>;
    /** Owners of our kinds. A template's policy has none, because it may have to outlive the template. */
    readonly ownerReferences: OwnerReference[];
  };
  readonly spec: PolicySpec;
}

/** Marks the policy for authored Sandboxes as ours, because no owner controls it. */
const AUTHORED_POLICY_LABEL = { [labels.protects]: protections.authored } as const;

/** Always both: Kubernetes leaves a direction open that is not listed. */
const POLICY_TYPES = ['Ingress', 'Egress'];

/** The rule lists of a template's policy: its own as given, where a missing list is an empty one, or else the default rules. */
export function buildRules(template: SandboxTemplate, settings: NetworkSettings): Rules {
  const { ingress, egress } = buildBaseRules(template, settings);
  return {
    ingress: withProofRule(template, ingress, settings),
    egress: withEgressProxy(template, egress, settings),
  };
}

/** The rules without what leads to the egress proxy. */
function buildBaseRules({ spec: { networkPolicy } }: SandboxTemplate, settings: NetworkSettings): Rules {
  if (networkPolicy === undefined) return buildDefaultRules(settings);
  return { ingress: networkPolicy.ingress ?? [], egress: networkPolicy.egress ?? [] };
}

/** The annotations of a template's policy. */
export function buildNotes(template: SandboxTemplate, settings: NetworkSettings): Record<string, string> {
  const note = formatEgressNote(template, buildBaseRules(template, settings).egress, settings);
  return { ...buildUidNote(template), ...(note === undefined ? {} : { [annotations.egress]: note }) };
}

/** Whether the policy has exactly these annotations of ours. */
export function hasNotes({ metadata }: NetworkPolicy, { metadata: { annotations: wanted } }: OwnPolicy): boolean {
  return [annotations.templateUid, annotations.egress].every((key) => metadata.annotations?.[key] === wanted?.[key]);
}

/** Whether a policy of this template says so, and no longer has the template as an owner as in earlier releases. */
export function isMarkedFor(policy: NetworkPolicy, { metadata: { uid } }: SandboxTemplate): boolean {
  const { labels: present, annotations: notes } = policy.metadata;
  const isMarked = present?.[labels.protects] === protections.template && notes?.[annotations.templateUid] === uid;
  return isMarked && !isOwnedByTemplate(policy);
}

/** The policy that all sandboxes of a template share (docs/reference/sandbox-template.md#network-policy). */
export function buildTemplatePolicy(
  template: SandboxTemplate,
  rules: Rules,
  notes = buildUidNote(template),
): OwnPolicy {
  const { namespace = '', name = '' } = template.metadata;
  return {
    metadata: {
      namespace,
      name: formatNetworkPolicyName(name),
      labels: { [labels.protects]: protections.template },
      annotations: notes,
      ownerReferences: [],
    },
    spec: {
      podSelector: {
        matchLabels: { [labels.templateRefHash]: nameHash(name) },
        // Policies add up, so this one must not select a sandbox that has narrower rules of its own.
        matchExpressions: [{ key: labels.network, operator: 'DoesNotExist' }],
      },
      policyTypes: [...POLICY_TYPES],
      ...rules,
    },
  };
}

function buildUidNote({ metadata: { uid = '' } }: SandboxTemplate): Record<string, string> {
  return { [annotations.templateUid]: uid };
}

/** The policy of a namespace for Pods without a template. Garbage collection deletes it with the last of its owners. */
export function buildAuthoredPolicy(
  namespace: string,
  owners: readonly Sandbox[],
  settings: NetworkSettings,
): OwnPolicy {
  return {
    metadata: {
      namespace,
      name: AUTHORED_POLICY_NAME,
      labels: { ...AUTHORED_POLICY_LABEL },
      ownerReferences: owners.map(buildReference),
    },
    spec: {
      podSelector: {
        matchExpressions: [
          { key: labels.nameHash, operator: 'Exists' },
          { key: labels.templateRefHash, operator: 'DoesNotExist' },
        ],
      },
      policyTypes: [...POLICY_TYPES],
      ...buildDefaultRules(settings),
    },
  };
}

/** With several owners none is the controller, and none blocks its own deletion. */
function buildReference({ apiVersion = '', kind = '', metadata: { name = '', uid = '' } }: Sandbox): OwnerReference {
  return { apiVersion, kind, name, uid };
}

/** Whether the controller created this policy for authored Sandboxes. */
export function isOwnAuthoredPolicy({ metadata }: NetworkPolicy): boolean {
  const isNamed = metadata.name === AUTHORED_POLICY_NAME;
  return isNamed && Object.entries(AUTHORED_POLICY_LABEL).every(([key, value]) => metadata.labels?.[key] === value);
}
