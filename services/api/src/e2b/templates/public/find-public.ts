// Templates that their teams have published, for clients of other namespaces.
import { labels } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { computeTemplateId, DEFAULT_TAG } from '@sandlot/template-build';
import { noTag } from '../../../errors/build-errors.ts';
import type { TemplateBuilds } from '../../../state/builds.ts';
import { BY_PUBLIC_NAME } from '../../../wiring/informers.ts';
import type { Informers } from '../../../wiring/informers.ts';
import { findBuiltName, findReference, formatObjectOf } from '../built/built-name.ts';
import type { BuiltName } from '../built/built-name.ts';
import type { SourceDeps } from '../find-source.ts';

export interface PublicDeps extends SourceDeps {
  readonly informers: Pick<Informers, 'pools' | 'templates' | 'builds'>;
  readonly builds: Pick<TemplateBuilds, 'listOf'>;
}

/** The SandboxTemplate of a tag that another namespace has published. */
export interface PublicTemplate {
  readonly built: BuiltName;
  readonly object: SandboxTemplate;
}

/** Whether its team has published a template. One labelled tag is enough: a build may have given it another tag since. */
export function isPublic(tagged: Iterable<Pick<SandboxTemplate, 'metadata'>>): boolean {
  return [...tagged].some(({ metadata }) => metadata.labels?.[labels.public] === 'true');
}

/**
 * What the reference means in other served namespaces, for a key whose own namespace has nothing of that name. A name that several
 * namespaces have published means none of them without its namespace. Throws an ApiError 404 for a tag that the template does not have.
 */
export function findPublic(deps: PublicDeps, key: Pick<ApiKey, 'namespace'>, text: string): PublicTemplate | undefined {
  const reference = findReference(text);
  // Without builds the API has no right to make the copy.
  if (reference === undefined || deps.informers.builds === undefined) return undefined;
  const { team, name, tag = DEFAULT_TAG } = reference;
  if (team === undefined && hasRequested(deps, key, name)) return undefined;
  const found = findOnly(listPublic(deps, name), { own: key.namespace, name, team });
  if (found === undefined) return undefined;
  const { templateID, namespace } = found;
  const object = deps.informers.templates.store.get(`${namespace}/${formatObjectOf(templateID, tag)}`);
  const built = object === undefined ? undefined : findBuiltName(object);
  if (object === undefined || built === undefined) throw noTag(tag, text.replace(/:[^/:]*$/, ''));
  return { built, object };
}

/** The namespaces other than the key's in which the name or id is public. */
export function listPublishers(
  deps: Pick<PublicDeps, 'informers'>,
  { namespace }: Pick<ApiKey, 'namespace'>,
  name: string,
) {
  const others = listPublic(deps, name).filter((each) => each.name === name && each.namespace !== namespace);
  return [...new Set(others.map((each) => each.namespace))];
}

/** The name belongs to the namespace from the request for its first build on. */
function hasRequested({ builds }: PublicDeps, { namespace }: Pick<ApiKey, 'namespace'>, name: string): boolean {
  return builds.listOf(namespace, computeTemplateId(namespace, name)).length > 0;
}

interface Published extends BuiltName {
  readonly namespace: string;
}

/** Those of that name or id. An id counts only for the namespace and name of which it is made, so that it means one template. */
function listPublic({ informers }: Pick<PublicDeps, 'informers'>, name: string): readonly Published[] {
  return [...informers.templates.store.listByIndex(BY_PUBLIC_NAME, name)].flatMap((template) => {
    const { namespace = '' } = template.metadata;
    const built = findBuiltName(template);
    const isOwn = built !== undefined && built.templateID === computeTemplateId(namespace, built.name);
    return isOwn ? [{ ...built, namespace }] : [];
  });
}

/** An id comes before the name of another: a team may name its template as it wants, and has no choice of its id. */
function findOnly(
  all: readonly Published[],
  { own, name, team }: { readonly own: string; readonly name: string; readonly team: string | undefined },
): Published | undefined {
  const asked = all.filter(({ namespace }) => namespace !== own && (team === undefined || namespace === team));
  const [first] = asked;
  const byId = asked.find(({ templateID }) => templateID === name);
  if (byId !== undefined) return byId;
  return asked.every(({ templateID }) => templateID === first?.templateID) ? first : undefined;
}
