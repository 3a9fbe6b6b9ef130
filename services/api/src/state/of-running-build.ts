import { annotations, labels } from '@sandlot/api-types';
import type { KubeObject } from '@sandlot/kube';

/**
 * Whether a claim or template is that of the sandbox in which the steps of a build run. No request of the API sees these: their owner
 * is the build. A template that a build has made says so in a second label.
 */
export function isOfRunningBuild({ metadata }: Pick<KubeObject, 'metadata'>): boolean {
  const { [labels.templateBuild]: build, [labels.builtBy]: madeBy } = metadata.labels ?? {};
  return build !== undefined && madeBy === undefined;
}

/** Whether a template is the copy of a public one of another namespace. Clients reach it by the name of that one alone. */
export function isCopy({ metadata }: Pick<KubeObject, 'metadata'>): boolean {
  return metadata.annotations?.[annotations.copiedFrom] !== undefined;
}

/** Whether no list shows a template, and no name or id leads to it. */
export function isHiddenTemplate(template: Pick<KubeObject, 'metadata'>): boolean {
  return isOfRunningBuild(template) || isCopy(template);
}
