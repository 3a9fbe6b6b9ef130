import { findCondition, templateConditions, templateReasons } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { PoolSnapshot } from '../plan/snapshot.ts';

/** What creations are about: another spec of the pool or another template is worth a try at once. */
export function subjectOf({
  pool,
  template,
  templateHash,
}: Pick<PoolSnapshot, 'pool' | 'template' | 'templateHash'>): string {
  return `${pool.metadata.generation ?? 0} ${template?.metadata.uid ?? ''} ${templateHash ?? ''}`;
}

/** Why no member can be made from the template as it is: its own controller, or the API server, refuses it. */
export function templateProblem({ template, memory: { trouble } }: PoolSnapshot): string | undefined {
  return trouble?.code === 'Invalid' ? trouble.message : refusalOf(template);
}

/** What the controller of templates says against the disks of this one. */
export function refusalOf(template: SandboxTemplate | undefined): string | undefined {
  const accepted = findCondition(template?.status?.conditions, templateConditions.accepted);
  const about = accepted?.observedGeneration === template?.metadata.generation;
  const refused = accepted?.status === 'False' && accepted.reason === templateReasons.invalidVolumeClaimTemplates;
  return about && refused ? accepted.message : undefined;
}
