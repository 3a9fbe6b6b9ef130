import { findCondition, templateConditions, templateReasons } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { PoolSnapshot } from '../plan/snapshot.ts';

/** Whether members may be created now. Their Pods start at once, so the network rules of the template come first. */
export function canStartMembers({ template, networkGap }: PoolSnapshot): boolean {
  return template !== undefined && networkGap === undefined && findVolumeProblem(template) === undefined;
}

/** Why no member can be created from the template as it is: the API server or the template controller refuses it. */
export function findTemplateProblem({ template, history: { backoff } }: PoolSnapshot): string | undefined {
  return backoff?.code === 'Invalid' ? backoff.message : (findVolumeProblem(template) ?? findNetworkProblem(template));
}

/** Why the NetworkPolicy of the template's current generation could not be written; undefined while that is not known. */
function findNetworkProblem(template: SandboxTemplate | undefined): string | undefined {
  const ready = findCondition(template?.status?.conditions, templateConditions.networkPolicyReady);
  const isCurrent = ready?.observedGeneration === template?.metadata.generation;
  return isCurrent && ready?.status === 'False' ? ready.message : undefined;
}

/** The template controller's objection to the volumeClaimTemplates of the template's current generation. */
function findVolumeProblem(template: SandboxTemplate | undefined): string | undefined {
  const accepted = findCondition(template?.status?.conditions, templateConditions.accepted);
  const isCurrent = accepted?.observedGeneration === template?.metadata.generation;
  const isRefused = accepted?.status === 'False' && accepted.reason === templateReasons.invalidVolumeClaimTemplates;
  return isCurrent && isRefused ? accepted.message : undefined;
}
