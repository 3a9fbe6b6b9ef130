import { labels, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { ApiKey } from '@sandlot/tenancy';
import type { TemplateBuilds } from '../../../state/builds.ts';
import { findClaimUse, templateInUse } from '../../snapshots/delete-snapshot.ts';
import type { DeleteSnapshotDeps } from '../../snapshots/delete-snapshot.ts';
import { deleteTemplate } from './assign-tags.ts';
import type { BuiltTemplate } from './built-listing.ts';
import { findBuiltName } from './built-name.ts';

export interface DeleteBuiltDeps extends Pick<DeleteSnapshotDeps, 'state' | 'clock'> {
  readonly client: Pick<KubeClient, 'find' | 'list' | 'delete'>;
  readonly builds: Pick<TemplateBuilds, 'listNow' | 'delete'>;
}

/** Deletes a template that was built over the API, with all its tags, pools and builds. Throws an ApiError 400 while sandboxes use it. */
export async function deleteBuilt(
  deps: DeleteBuiltDeps,
  { namespace }: Pick<ApiKey, 'namespace'>,
  { text, template }: { readonly text: string; readonly template: BuiltTemplate },
): Promise<void> {
  const { templateID } = template;
  // As they are now: a tag that the informer does not have yet would be left behind.
  const tagged = await listTaggedNow(deps, namespace, templateID);
  const names = new Set(tagged.map(({ metadata }) => metadata.name ?? ''));
  const isOfIt = ({ metadata, spec }: SandboxClaim): boolean =>
    metadata.labels?.[labels.templateId] === templateID ||
    names.has(spec.sandboxTemplateRef?.name ?? '') ||
    names.has(spec.warmPoolRef?.name ?? '');
  const use = findClaimUse(deps, namespace, isOfIt);
  if (use !== undefined) throw templateInUse(text, use);
  // Before the templates: a build that runs would make them again.
  for (const build of await deps.builds.listNow(namespace, templateID)) await deps.builds.delete(build);
  for (const each of tagged) await deleteTemplate(deps, each);
}

/** Those of a template that was built, as the API server has them. Rejects with a KubeError. */
export async function listTaggedNow(
  { client }: { readonly client: Pick<KubeClient, 'list'> },
  namespace: string,
  templateID: string,
): Promise<readonly SandboxTemplate[]> {
  const selection = { namespace, labelSelector: `${labels.templateId}=${templateID}` };
  const { items } = await client.list(sandboxTemplates, selection);
  return items.filter((template) => findBuiltName(template) !== undefined);
}
