import { EXTENSIONS_GROUP, labels, nameHash, networkPolicyName } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate } from '@sandlot/api-types';
import type { NetworkPolicy, OwnerReference } from '@sandlot/kube';
import { defaultRules } from './rules.ts';
import type { Rules } from './rules.ts';
import type { NetworkSettings } from './settings.ts';

export type PolicySpec = Rules & {
  readonly podSelector: {
    readonly matchLabels?: Record<string, string>;
    readonly matchExpressions?: { key: string; operator: string }[];
  };
  readonly policyTypes: string[];
};

/** A NetworkPolicy as we write one. */
export interface OwnPolicy {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels?: Record<string, string>;
    readonly ownerReferences: OwnerReference[];
  };
  readonly spec: PolicySpec;
}

/** Name of the one policy a namespace has for directly authored Sandboxes. No template can have a policy of that name. */
export const AUTHORED_POLICY_NAME = 'sandlot-authored-sandboxes';

/** Says that the policy for authored Sandboxes is ours: it has no owner that controls it. */
const AUTHORED_POLICY_LABEL = { 'sandlot.dev/protects': 'authored-sandboxes' } as const;

/** Both, always: a direction that is not named would be open. */
const POLICY_TYPES = ['Ingress', 'Egress'];

/** The rules a template asks for: its own as given, a missing list being an empty one, else the default. */
export function rulesOf({ spec }: SandboxTemplate, settings: NetworkSettings): Rules {
  const { networkPolicy } = spec;
  if (networkPolicy === undefined) return defaultRules(settings);
  return { ingress: networkPolicy.ingress ?? [], egress: networkPolicy.egress ?? [] };
}

/** The policy that all sandboxes of a template share (API contract, network policy). */
export function templatePolicy(template: SandboxTemplate, rules: Rules): OwnPolicy {
  const { namespace = '', name = '' } = template.metadata;
  return {
    metadata: { namespace, name: networkPolicyName(name), ownerReferences: [ownerOf(template)] },
    spec: {
      podSelector: {
        matchLabels: { [labels.templateRefHash]: nameHash(name) },
        // Policies add up: a sandbox with narrower rules of its own must not have these besides.
        matchExpressions: [{ key: labels.network, operator: 'DoesNotExist' }],
      },
      policyTypes: [...POLICY_TYPES],
      ...rules,
    },
  };
}

function ownerOf({ metadata: { name = '', uid = '' } }: SandboxTemplate): OwnerReference {
  const kind = { apiVersion: `${EXTENSIONS_GROUP}/v1beta1`, kind: 'SandboxTemplate' };
  return { ...kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The policy of a namespace for pods of Sandboxes that no template stands behind. Gone with the last of its owners. */
export function authoredPolicy(namespace: string, owners: readonly Sandbox[], settings: NetworkSettings): OwnPolicy {
  return {
    metadata: {
      namespace,
      name: AUTHORED_POLICY_NAME,
      labels: { ...AUTHORED_POLICY_LABEL },
      ownerReferences: owners.map(reasonToStay),
    },
    spec: {
      podSelector: {
        matchExpressions: [
          { key: labels.nameHash, operator: 'Exists' },
          { key: labels.templateRefHash, operator: 'DoesNotExist' },
        ],
      },
      policyTypes: [...POLICY_TYPES],
      ...defaultRules(settings),
    },
  };
}

/** None of several owners controls it, and none waits for it. */
function reasonToStay({ apiVersion = '', kind = '', metadata: { name = '', uid = '' } }: Sandbox): OwnerReference {
  return { apiVersion, kind, name, uid };
}

/** Whether the policy for authored Sandboxes is one that we made. */
export function isOwnAuthoredPolicy({ metadata }: NetworkPolicy): boolean {
  const isNamed = metadata.name === AUTHORED_POLICY_NAME;
  return isNamed && Object.entries(AUTHORED_POLICY_LABEL).every(([key, value]) => metadata.labels?.[key] === value);
}
