import { labels, sandboxTemplates } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { conflict, notPossible } from '../../../errors/refusals.ts';
import type { BuiltTemplate } from '../built/built-listing.ts';
import { listTaggedNow } from '../built/delete-built.ts';
import { isPublic, listPublishers } from './find-public.ts';
import type { PublicDeps } from './find-public.ts';
import { findClosedField } from './public-spec.ts';

export interface PublishDeps extends Pick<PublicDeps, 'informers'> {
  readonly client: Pick<KubeClient, 'list' | 'mergePatch'>;
}

/**
 * Lets other namespaces use a template with all its tags. Throws an ApiError: 400 for one that has no good build, or fields that other
 * namespaces must not get, 409 for a name that another namespace has published.
 */
export async function publish(
  deps: PublishDeps,
  namespace: string,
  { templateID, name }: Pick<BuiltTemplate, 'templateID' | 'name'>,
): Promise<void> {
  const tagged = await listTaggedNow(deps, namespace, templateID);
  if (tagged.length === 0) throw notPossible(`template '${name}' has no build that is ready`);
  for (const { spec } of tagged) {
    const field = findClosedField(spec);
    if (field !== undefined)
      throw notPossible(`template '${name}' cannot be public: other teams must not get ${field}`);
  }
  if (!isPublic(tagged) && listPublishers(deps, { namespace }, name).length > 0)
    throw conflict(`another team has published a template '${name}'; build yours under another name`);
  await label(deps, tagged, 'true');
}

/** Takes a template back. Sandboxes of others that run, and their snapshots, stay. Rejects with a KubeError. */
export async function unpublish(deps: PublishDeps, namespace: string, templateID: string): Promise<void> {
  const tagged = await listTaggedNow(deps, namespace, templateID);
  await label(
    deps,
    tagged.filter((each) => isPublic([each])),
    null,
  );
}

async function label(
  { client }: PublishDeps,
  tagged: Awaited<ReturnType<typeof listTaggedNow>>,
  value: 'true' | null,
): Promise<void> {
  for (const { metadata } of tagged) {
    const { namespace, name = '' } = metadata;
    try {
      const patch = { metadata: { labels: { [labels.public]: value } } };
      await client.mergePatch(sandboxTemplates, { namespace, name }, patch);
    } catch (error) {
      if (!(error instanceof Error) || !isNotFound(error)) throw error;
    }
  }
}
