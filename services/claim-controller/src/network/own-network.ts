import { isDeepStrictEqual } from 'node:util';
import {
  annotations,
  baselineNetworkPolicyName,
  claimMessages,
  claimReasons,
  egressWishOf,
  findCondition,
  labels,
  nameHash,
  networkPolicyName,
  ownNetworkPolicyName,
  sandboxConditions,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import { ownedBy } from '@sandlot/blueprint';
import { controllerOf } from '@sandlot/kube';
import type { NetworkPolicy, Store } from '@sandlot/kube';
import { wasServed } from '../delivery/rules.ts';
import { narrowed } from './egress-rules.ts';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { ClaimSnapshot, Origin } from '../plan/snapshot.ts';
import type { OwnNetwork, Spec, WantedPolicy } from './wanted-policy.ts';

const BOTH = ['Ingress', 'Egress'];

/** The template's policy is written within moments, and its event wakes the claim. */
const BLOCKED_RETRY_MS = 5_000;

/** What is to be done about a claim's own egress rules, from memory alone; undefined when it asks for none. */
export function ownNetworkOf(
  policies: Store<NetworkPolicy>,
  claim: SandboxClaim,
  origin: Origin,
): OwnNetwork | undefined {
  const wish = egressWishOf(claim);
  if (wish === undefined || origin.kind !== 'found') return undefined;
  const { template } = origin;
  const base = baseOf(policies, template);
  if (base === undefined) return blocked('the NetworkPolicy of its template is not there yet');
  const own = ownPolicy(claim, { ...base, egress: narrowed(base.egress ?? [], wish) });
  const present = presentOf(policies, own);
  if (present !== undefined && controllerOf(present)?.uid !== claim.metadata.uid) {
    return blocked(`a NetworkPolicy ${own.metadata.name} exists that is not the claim's: delete it`);
  }
  const wanted = [baselineOf(template), own];
  const due = wanted.filter((policy) => !isAsWanted(presentOf(policies, policy), policy));
  return due.length === 0 ? { kind: 'settled' } : { kind: 'due', policies: due };
}

type Rules = Pick<Spec, 'policyTypes' | 'ingress' | 'egress'>;

/** The template's rules as they are in force, which its own controller has derived; undefined: not written yet. */
function baseOf(policies: Store<NetworkPolicy>, { metadata, spec }: SandboxTemplate): Rules | undefined {
  if (spec.networkPolicyManagement === 'Unmanaged') return { policyTypes: ['Egress'], egress: [{}] };
  const found = policies.get(`${metadata.namespace ?? ''}/${networkPolicyName(metadata.name ?? '')}`)?.spec;
  return found === undefined ? undefined : { policyTypes: BOTH, ingress: found.ingress ?? [], egress: found.egress };
}

function ownPolicy(claim: SandboxClaim, rules: Rules): WantedPolicy {
  const { namespace = '', name = '', uid = '' } = claim.metadata;
  return {
    metadata: { namespace, name: ownNetworkPolicyName(name), ownerReferences: [ownedBy(claim)] },
    spec: { podSelector: { matchLabels: { [labels.claimUid]: uid } }, ...rules },
  };
}

function presentOf(policies: Store<NetworkPolicy>, { metadata }: WantedPolicy): NetworkPolicy | undefined {
  return policies.get(`${metadata.namespace}/${metadata.name}`);
}

function blocked(detail: string): OwnNetwork {
  const message = claimMessages.error(detail);
  return { kind: 'blocked', report: { reason: claimReasons.reconcilerError, message } };
}

/**
 * Refuses everything to pods with rules of their own. Policies add up, so it takes nothing from a pod that has them; one
 * whose policy is collected before it, or deleted by somebody, is closed by it and not open.
 */
function baselineOf({ apiVersion = '', kind = '', metadata }: SandboxTemplate): WantedPolicy {
  const { namespace = '', name = '', uid = '' } = metadata;
  return {
    metadata: {
      namespace,
      name: baselineNetworkPolicyName(name),
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    spec: {
      podSelector: { matchLabels: { [labels.templateRefHash]: nameHash(name), [labels.network]: 'own' } },
      policyTypes: BOTH,
    },
  };
}

/** Absent lists count as empty; the API server adds nothing else to what is written here. */
function isAsWanted(present: NetworkPolicy | undefined, { spec }: WantedPolicy): boolean {
  if (present === undefined) return false;
  const form = ({ podSelector, policyTypes, ingress = [], egress = [] }: Spec): unknown =>
    JSON.parse(JSON.stringify({ podSelector, policyTypes, ingress, egress }));
  return isDeepStrictEqual(form(present.spec ?? {}), form(spec));
}

/** What comes before a Sandbox is committed to the claim; undefined: it may be. */
export function decideNetworkFirst({ network }: ClaimSnapshot): Plan | undefined {
  if (network?.kind !== 'blocked') return undefined;
  return [{ kind: 'report', report: network.report }, wait(BLOCKED_RETRY_MS, network.report.message)];
}

/** The step that makes the rules hold. It precedes all that gives a pod its label, or shows it to anybody. */
export function decideNetwork({ network }: ClaimSnapshot): Plan {
  return network?.kind === 'due' ? [{ kind: 'secureNetwork', policies: network.policies }] : [];
}

/** Tells that a change of the rules holds, once policies and pod are as the changed claim wants them. */
export function decideNetworkNews({ claim, network }: ClaimSnapshot, sandbox: Sandbox): Plan {
  if (network?.kind !== 'settled' || !wasServed(claim, sandbox)) return [];
  const { [annotations.network]: asked, [annotations.networkApplied]: told } = claim.metadata.annotations ?? {};
  if (asked === undefined || asked === told || !hasLeftTemplate(sandbox)) return [];
  const step: Step = { kind: 'tellNetwork', applied: asked };
  return [step];
}

/** Whether the pod has left the template's rules: the label is on the Sandbox, and its controller has seen that. */
function hasLeftTemplate({ metadata, status, spec }: Sandbox): boolean {
  const isLabelled = [metadata.labels, spec.podTemplate.metadata?.labels].every(
    (set) => set?.[labels.network] === 'own',
  );
  const ready = findCondition(status?.conditions, sandboxConditions.ready);
  return isLabelled && ready?.observedGeneration === metadata.generation;
}
