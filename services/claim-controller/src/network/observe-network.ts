import { isDeepStrictEqual } from 'node:util';
import {
  formatBaselineNetworkPolicyName,
  claimMessages,
  claimReasons,
  findEgressWish,
  findNetworkGap,
  findTemplateUidOfPolicy,
  formatNetworkPolicyName,
  hasOwnNetwork,
  isOwnedByTemplate,
  labels,
  nameHash,
  narrowEgress,
  ownNetworkPolicyName,
  protections,
} from '@sandlot/api-types';
import type { NetworkPolicyEgressRule, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import { ownedBy } from '@sandlot/blueprint';
import { findController } from '@sandlot/kube';
import type { NetworkPolicy, Store } from '@sandlot/kube';
import type { Source } from '../plan/snapshot.ts';
import type { OwnNetwork, Spec, WantedPolicy } from './snapshot-network.ts';

const BOTH = ['Ingress', 'Egress'];

interface NetworkDeps {
  readonly policies: Store<NetworkPolicy>;
  /** The rule that lets Pods reach the egress proxy. */
  readonly proxyRule: NetworkPolicyEgressRule | undefined;
}

/** Compares a claim's own egress rules with the policies in the cache; undefined when the claim asks for none. */
export function observeNetwork(
  { policies, proxyRule }: NetworkDeps,
  claim: SandboxClaim,
  source: Source,
): OwnNetwork | undefined {
  const wish = findEgressWish(claim);
  if (wish === undefined || !hasOwnNetwork(claim) || source.kind !== 'found') return undefined;
  const { template } = source;
  const base = findBase(policies, template);
  if (base === undefined) return blockNetwork('the NetworkPolicy of its template is not there yet');
  const own = ownPolicy(claim, { ...base, egress: narrowEgress(base.egress ?? [], wish, proxyRule) });
  const present = findPresent(policies, own);
  if (present !== undefined && findController(present)?.uid !== claim.metadata.uid) {
    return blockNetwork(`a NetworkPolicy ${own.metadata.name} exists that is not the claim's: delete it`);
  }
  const wanted = [buildBaseline(template), own];
  const due = wanted.filter((policy) => !isAsWanted(findPresent(policies, policy), policy));
  return due.length === 0 ? { kind: 'inForce' } : { kind: 'due', policies: due };
}

/** Why the claim may not start a Pod of its template yet; undefined: it may. */
export function findTemplateGap(policies: Store<NetworkPolicy>, source: Source): string | undefined {
  return source.kind === 'found'
    ? findNetworkGap(source.template, findTemplatePolicy(policies, source.template))
    : undefined;
}

type Rules = Pick<Spec, 'policyTypes' | 'ingress' | 'egress'>;

/** The template's rules as the warmpool-controller has written them; undefined: not written yet, or of an earlier template. */
function findBase(policies: Store<NetworkPolicy>, template: SandboxTemplate): Rules | undefined {
  if (template.spec.networkPolicyManagement === 'Unmanaged') return { policyTypes: ['Egress'], egress: [{}] };
  const found = findTemplatePolicy(policies, template);
  if (found?.spec === undefined || findTemplateUidOfPolicy(found) !== template.metadata.uid) return undefined;
  return { policyTypes: BOTH, ingress: found.spec.ingress ?? [], egress: found.spec.egress };
}

function findTemplatePolicy(policies: Store<NetworkPolicy>, { metadata }: SandboxTemplate): NetworkPolicy | undefined {
  return policies.get(`${metadata.namespace ?? ''}/${formatNetworkPolicyName(metadata.name ?? '')}`);
}

function ownPolicy(claim: SandboxClaim, rules: Rules): WantedPolicy {
  const { namespace = '', name = '', uid = '' } = claim.metadata;
  return {
    metadata: { namespace, name: ownNetworkPolicyName(name), ownerReferences: [ownedBy(claim)] },
    spec: { podSelector: { matchLabels: { [labels.claimUid]: uid } }, ...rules },
  };
}

function findPresent(policies: Store<NetworkPolicy>, { metadata }: WantedPolicy): NetworkPolicy | undefined {
  return policies.get(`${metadata.namespace}/${metadata.name}`);
}

function blockNetwork(detail: string): OwnNetwork {
  const message = claimMessages.error(detail);
  return { kind: 'blocked', report: { reason: claimReasons.reconcilerError, message } };
}

/**
 * Denies everything to pods with rules of their own. Policies add up, so it takes nothing away while the own policy exists;
 * should that be deleted before its pod, the pod has no network instead of an open one.
 */
function buildBaseline({ metadata: { namespace = '', name = '' } }: SandboxTemplate): WantedPolicy {
  return {
    metadata: {
      namespace,
      name: formatBaselineNetworkPolicyName(name),
      // The warmpool-controller deletes it, once neither the template nor a Sandbox of it is left.
      labels: { [labels.protects]: protections.template },
      ownerReferences: [],
    },
    spec: {
      podSelector: { matchLabels: { [labels.templateRefHash]: nameHash(name), [labels.network]: 'own' } },
      policyTypes: BOTH,
    },
  };
}

/** Absent lists count as empty; the API server defaults nothing else in these policies. */
function isAsWanted(present: NetworkPolicy | undefined, { metadata, spec }: WantedPolicy): boolean {
  if (present === undefined || !isMarkedAsWanted(present, metadata)) return false;
  const form = ({ podSelector, policyTypes, ingress = [], egress = [] }: Spec): unknown =>
    JSON.parse(JSON.stringify({ podSelector, policyTypes, ingress, egress }));
  return isDeepStrictEqual(form(present.spec ?? {}), form(spec));
}

/** In earlier releases the baseline had its template as an owner, and no label. */
function isMarkedAsWanted(present: NetworkPolicy, { labels: wanted = {} }: WantedPolicy['metadata']): boolean {
  const isLabelled = Object.entries(wanted).every(([key, value]) => present.metadata.labels?.[key] === value);
  return isLabelled && !isOwnedByTemplate(present);
}
