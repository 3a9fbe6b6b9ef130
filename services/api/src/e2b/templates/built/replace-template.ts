import { sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import { isAlreadyExists, isConflict, isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';

/** Writes before a caller gives up. */
export const ATTEMPTS = 5;

/** Whether another write came first. */
export function isOutrun(error: Error): boolean {
  return isConflict(error) || isAlreadyExists(error) || isNotFound(error);
}

/** Replaces the spec as a whole: a merge would keep what only the old one has. Guarded, because others may write the same template. */
export async function replaceTemplate(
  client: Pick<KubeClient, 'patchJson'>,
  present: SandboxTemplate,
  { metadata, spec }: SandboxTemplate,
): Promise<void> {
  const { namespace, name = '', resourceVersion } = present.metadata;
  await client.patchJson(sandboxTemplates, { namespace, name }, [
    // Unlike a test, which fails as Invalid, this one fails as Conflict.
    { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion ?? '' },
    { op: 'replace', path: '/metadata/labels', value: { ...present.metadata.labels, ...metadata.labels } },
    {
      op: 'replace',
      path: '/metadata/annotations',
      value: { ...present.metadata.annotations, ...metadata.annotations },
    },
    { op: 'replace', path: '/spec', value: spec },
  ]);
}
