import {
  findTemplateOfPolicy,
  formatNetworkPolicyName,
  labels,
  buildMergePatch,
  nameHash,
  templateReasons,
} from '@sandlot/api-types';
import type { SandboxTemplateStatus } from '@sandlot/api-types';
import type { JsonObject, NetworkPolicy } from '@sandlot/kube';
import { buildStatus, formatNotControlledMessage } from './build-status.ts';
import { hasSameSpec } from './network/difference.ts';
import { buildNotes, buildRules, buildTemplatePolicy, hasNotes, isMarkedFor } from './network/policy.ts';
import type { OwnPolicy } from './network/policy.ts';
import { NO_TRAFFIC } from './network/rules.ts';
import type { PolicyOutcome, PolicyStep, StatusStep, TemplatePlan } from './plan/plan.ts';
import type { TemplateSnapshot } from './plan/snapshot.ts';

/** What a pass over a template writes before its status. */
export function decide(snapshot: TemplateSnapshot): TemplatePlan {
  return { policy: decidePolicy(snapshot), label: decideLabel(snapshot) };
}

/**
 * The next step towards the policy that a template asks for (docs/reference/sandbox-template.md#network-policy). A policy that
 * an earlier template of that name left is taken over: its Sandboxes get the new rules, as after a change of the template.
 */
export function decidePolicy(snapshot: TemplateSnapshot): PolicyStep {
  const { template, policy } = snapshot;
  const isOwn = policy !== undefined && findTemplateOfPolicy(policy) === template.metadata.name;
  if (template.spec.networkPolicyManagement === 'Unmanaged') {
    const isLeft = !isOwn || policy.metadata.deletionTimestamp !== undefined;
    return isLeft ? { kind: 'keep', because: 'unmanaged' } : { kind: 'delete', present: policy };
  }
  if (policy === undefined) return { kind: 'create', wanted: buildWantedPolicy(snapshot) };
  if (!isOwn) return { kind: 'leave', present: policy };
  return policy.metadata.deletionTimestamp === undefined ? decideRepair(snapshot, policy) : { kind: 'await' };
}

/** With refused rules a new policy lets nothing pass, and an existing one keeps the rules accepted before. */
function buildWantedPolicy({ template, network, refusal }: TemplateSnapshot): OwnPolicy {
  if (refusal !== undefined) return buildTemplatePolicy(template, NO_TRAFFIC);
  return buildTemplatePolicy(template, buildRules(template, network), buildNotes(template, network));
}

function decideRepair(snapshot: TemplateSnapshot, present: NetworkPolicy): PolicyStep {
  const { template, refusal } = snapshot;
  const isMarked = isMarkedFor(present, template);
  const wanted = buildWantedPolicy(snapshot);
  if (refusal !== undefined) return isMarked ? { kind: 'keep', because: 'refused' } : { kind: 'mark', present, wanted };
  if (isMarked && hasNotes(present, wanted) && hasSameSpec(present.spec ?? {}, wanted.spec))
    return { kind: 'keep', because: 'applied' };
  return { kind: 'replace', present, wanted };
}

/** The template carries the label of its own sandboxes, so that one selector finds them all. */
function decideLabel({ template: { metadata } }: TemplateSnapshot): JsonObject | undefined {
  const hash = nameHash(metadata.name ?? '');
  if (metadata.labels?.[labels.templateRefHash] === hash) return undefined;
  return { uid: metadata.uid, labels: { [labels.templateRefHash]: hash } };
}

/** The status write after the policy step ended with `outcome`; undefined when the status says all of it already. */
export function decideStatus(snapshot: TemplateSnapshot, outcome: PolicyOutcome): StatusStep | undefined {
  const { template, statusNotBeforeMs } = snapshot;
  const status = buildStatus(snapshot, outcome);
  const patch = buildMergePatch(template.status, status);
  if (patch === undefined) return undefined;
  const isUrgent = Object.keys(patch).some((field) => field !== 'warmPools' && field !== 'warmPoolCount');
  const isNews = hasNotControlledReport(status) && !hasNotControlledReport(template.status);
  return {
    patch,
    notBeforeMs: isUrgent ? undefined : statusNotBeforeMs,
    warning: isNews ? formatNotControlledMessage(formatNetworkPolicyName(template.metadata.name ?? '')) : undefined,
  };
}

function hasNotControlledReport(status: SandboxTemplateStatus | undefined): boolean {
  return (status?.conditions ?? []).some(({ reason }) => reason === templateReasons.notControlled);
}
