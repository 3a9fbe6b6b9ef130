import { findCondition, templateConditions, templateReasons } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { PoolSnapshot } from '../plan/snapshot.ts';

/** Why no member can be created from the template as it is: the API server or the template controller refuses it. */
export function findTemplateProblem({ template, history: { backoff } }: PoolSnapshot): string | undefined {
  return backoff?.code === 'Invalid' ? backoff.message : findVolumeProblem(template);
}

/** The template controller's objection to the volumeClaimTemplates of the template's current generation. */
export function findVolumeProblem(template: SandboxTemplate | undefined): string | undefined {
  const accepted = findCondition(template?.status?.conditions, templateConditions.accepted);
  const isCurrent = accepted?.observedGeneration === template?.metadata.generation;
  const isRefused = accepted?.status === 'False' && accepted.reason === templateReasons.invalidVolumeClaimTemplates;
  return isCurrent && isRefused ? accepted.message : undefined;
}
