import {
  mergeVolumeClaimTemplates,
  nameHash,
  formatNetworkPolicyName,
  formatRfc3339,
  setCondition,
  templateConditions,
  templateReasons,
} from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateStatus } from '@sandlot/api-types';
import { checkEgress } from './network/check-egress.ts';
import type { PolicyOutcome } from './plan/plan.ts';
import type { Finding, TemplateSnapshot } from './plan/snapshot.ts';

/** Entries of `status.warmPools`. */
const MAX_POOLS = 50;

/** The whole status of a template (docs/reference/sandbox-template.md#status). */
export function buildStatus(snapshot: TemplateSnapshot, outcome: PolicyOutcome): SandboxTemplateStatus {
  const { template, blueprintHash, pools, nowMs } = snapshot;
  const { name = '', generation = 0 } = template.metadata;
  const findings: readonly (readonly [string, Finding | undefined])[] = [
    [templateConditions.accepted, checkAccepted(template, outcome)],
    [templateConditions.networkPolicyReady, checkNetworkPolicy(formatNetworkPolicyName(name), outcome)],
    [templateConditions.egressReady, checkEgress(snapshot)],
  ];
  let conditions = template.status?.conditions ?? [];
  for (const [type, finding] of findings) {
    if (finding === undefined) continue;
    conditions = setCondition(conditions, { type, observedGeneration: generation, ...finding }, formatRfc3339(nowMs));
  }
  return {
    observedGeneration: generation,
    blueprintHash,
    templateRefHash: nameHash(name),
    ...buildPolicyName(snapshot, outcome),
    warmPools: [...pools].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MAX_POOLS),
    ...(pools.length === 0 ? {} : { warmPoolCount: pools.length }),
    conditions,
  };
}

/** The name of the policy in force; while that is unknown, the name in the status. */
function buildPolicyName(
  { template }: TemplateSnapshot,
  { kind }: PolicyOutcome,
): Pick<SandboxTemplateStatus, 'networkPolicyName'> {
  const before = template.status?.networkPolicyName;
  if (kind === 'applied' || kind === 'refused')
    return { networkPolicyName: formatNetworkPolicyName(template.metadata.name ?? '') };
  return kind === 'unmanaged' || kind === 'notControlled' || before === undefined ? {} : { networkPolicyName: before };
}

function checkAccepted(template: SandboxTemplate, outcome: PolicyOutcome): Finding | undefined {
  const volumes = mergeVolumeClaimTemplates({
    template: template.spec.volumeClaimTemplates ?? [],
    claim: [],
    policy: template.spec.volumeClaimTemplatesPolicy,
  });
  const no = (reason: string, message: string): Finding => ({ status: 'False', reason, message });
  if (volumes.kind === 'refused') return no(templateReasons.invalidVolumeClaimTemplates, volumes.message);
  const hasOwnRules = template.spec.networkPolicy !== undefined;
  if (outcome.kind === 'refused' && hasOwnRules)
    return no(templateReasons.invalidNetworkPolicy, formatRefusalMessage(outcome.message));
  return { status: 'True', reason: templateReasons.accepted, message: 'Sandboxes can be made from this template' };
}

function formatRefusalMessage(detail: string): string {
  const meanwhile = 'until they are corrected, the rules last accepted stay in force, or else no traffic passes';
  return `The API server refuses the rules of spec.networkPolicy; ${meanwhile}: ${detail}`;
}

function checkNetworkPolicy(name: string, outcome: PolicyOutcome): Finding | undefined {
  const { applied, unmanaged, notControlled, reconcilerError } = templateReasons;
  switch (outcome.kind) {
    case 'applied':
      return { status: 'True', reason: applied, message: `NetworkPolicy "${name}" is applied` };
    case 'unmanaged':
      return {
        status: 'True',
        reason: unmanaged,
        message: 'networkPolicyManagement is Unmanaged: no NetworkPolicy is kept for this template',
      };
    case 'notControlled':
      return { status: 'False', reason: notControlled, message: formatNotControlledMessage(name) };
    case 'refused':
    case 'failed':
      return { status: 'False', reason: reconcilerError, message: `Error seen: ${outcome.message}` };
    case 'pending':
      return undefined;
  }
}

/** For the condition and the Event when another policy has the name. */
export function formatNotControlledMessage(name: string): string {
  const remedy = 'delete or rename it, or set networkPolicyManagement to Unmanaged';
  return `NetworkPolicy "${name}" exists and is not controlled by this template, so it is left alone: ${remedy}`;
}
