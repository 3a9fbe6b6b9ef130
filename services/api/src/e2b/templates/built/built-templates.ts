// The SandboxTemplates that were built over the API, one for each tag.
import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { computeTemplateId, DEFAULT_TAG } from '@sandlot/template-build';
import type { TemplateReference } from '@sandlot/template-build';
import { noTag } from '../../../errors/build-errors.ts';
import { BY_TEMPLATE_ID } from '../../../wiring/informers.ts';
import type { Informers } from '../../../wiring/informers.ts';
import type { Source } from '../source.ts';
import { findBuiltName, formatObjectOf, isTemplateId } from './built-name.ts';

export interface BuiltDeps {
  readonly informers: Pick<Informers, 'pools' | 'templates'>;
  readonly client: Pick<KubeClient, 'find'>;
}

/** Those of a template, one for each of its tags; empty if there is none. Rejects with a KubeError. */
export async function listTagged(
  { informers, client }: BuiltDeps,
  namespace: string,
  templateID: string,
): Promise<readonly SandboxTemplate[]> {
  const known = [...informers.templates.store.listByIndex(BY_TEMPLATE_ID, `${namespace}/${templateID}`)];
  const built = known.filter((template) => findBuiltName(template) !== undefined);
  if (built.length > 0) return built;
  // One that was built a moment ago is not in the informer yet.
  const name = formatObjectOf(templateID, DEFAULT_TAG);
  const found = await client.find(sandboxTemplates, { namespace, name });
  return found !== undefined && findBuiltName(found)?.templateID === templateID ? [found] : [];
}

/** Whether a build has made a template of that name, or with that id. */
export async function hasBuilt(deps: BuiltDeps, namespace: string, name: string): Promise<boolean> {
  for (const templateID of listIds(namespace, name))
    if ((await listTagged(deps, namespace, templateID)).length > 0) return true;
  return false;
}

/** The ids that a name may stand for: that of the namespace's template of this name, and the name itself. */
export function listIds(namespace: string, name: string): readonly string[] {
  const own = computeTemplateId(namespace, name);
  return isTemplateId(name) && name !== own ? [own, name] : [own];
}

/**
 * The pool or template to which a reference leads in a namespace; undefined: no build has made one of that name. Throws an ApiError
 * 404 for a tag that the template does not have.
 */
export async function findBuilt(
  deps: BuiltDeps,
  namespace: string,
  { name, tag = DEFAULT_TAG }: TemplateReference,
): Promise<Source | undefined> {
  for (const templateID of listIds(namespace, name)) {
    const template = await findTagged(deps, { namespace, templateID, tag });
    if (template !== undefined) return toSource(deps, template);
    if ((await listTagged(deps, namespace, templateID)).length > 0) throw noTag(tag, name);
  }
  return undefined;
}

interface Tagged {
  readonly namespace: string;
  readonly templateID: string;
  readonly tag: string;
}

/** The SandboxTemplate of a tag, also one that the informer does not have yet. Rejects with a KubeError. */
export async function findTagged(
  { informers, client }: BuiltDeps,
  { namespace, templateID, tag }: Tagged,
): Promise<SandboxTemplate | undefined> {
  const name = formatObjectOf(templateID, tag);
  const cached = informers.templates.store.get(`${namespace}/${name}`);
  const found = cached ?? (await client.find(sandboxTemplates, { namespace, name }));
  return found !== undefined && findBuiltName(found) !== undefined ? found : undefined;
}

/** The pool of a template, which has its name, else the template itself. */
async function toSource({ informers, client }: BuiltDeps, template: SandboxTemplate): Promise<Source> {
  const { namespace = '', name = '' } = template.metadata;
  const built = findBuiltName(template);
  const cached = informers.pools.store.get(`${namespace}/${name}`);
  const isKnown = informers.templates.store.get(`${namespace}/${name}`) !== undefined;
  const pool = cached ?? (isKnown ? undefined : await client.find(sandboxWarmPools, { namespace, name }));
  const isOwn = pool?.spec.sandboxTemplateRef.name === name;
  return isOwn ? { kind: 'pool', name, object: pool, built } : { kind: 'template', name, object: template, built };
}
