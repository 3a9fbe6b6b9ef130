import { computeTemplateId, DEFAULT_TAG } from '@sandlot/template-build';
import type { TemplateReference } from '@sandlot/template-build';
import type { ApiKey } from '@sandlot/tenancy';
import { ApiError } from '../../../errors/api-error.ts';
import { findReference, formatObjectOf, isOwnTeam } from '../../templates/built/built-name.ts';
import { findTagged, listIds } from '../../templates/built/built-templates.ts';
import { findOwnSource, findPlainTemplate } from '../../templates/find-source.ts';
import { findCopy } from '../../templates/public/copy-public.ts';
import type { CopyDeps } from '../../templates/public/copy-public.ts';

/**
 * Name of the SandboxTemplate that a reference means: one that was built over the API, else any other of that name,
 * else the copy of a public one of another namespace. A reference that
 * means none leads to a name that no object has, so that the build ends with an error, as clients expect.
 */
export async function findBaseName(deps: CopyDeps, key: ApiKey, text: string): Promise<string> {
  const { namespace } = key;
  const reference = findReference(text);
  if (reference === undefined) return computeTemplateId(namespace, text);
  const { team, name, tag = DEFAULT_TAG } = reference;
  const isOwn = isOwnTeam(team, key);
  const own = isOwn ? await findOwnName(deps, namespace, reference) : undefined;
  const found = own ?? (await findPublicName(deps, key, text));
  return found ?? formatObjectOf(computeTemplateId(namespace, isOwn ? name : text), tag);
}

async function findOwnName(
  deps: CopyDeps,
  namespace: string,
  reference: TemplateReference,
): Promise<string | undefined> {
  const { name, tag = DEFAULT_TAG } = reference;
  for (const templateID of listIds(namespace, name)) {
    if ((await findTagged(deps, { namespace, templateID, tag })) !== undefined) return formatObjectOf(templateID, tag);
  }
  const plain = reference.tag === undefined ? await findPlainTemplate(deps, namespace, name) : undefined;
  return plain?.kind === 'pool' ? plain.object.spec.sandboxTemplateRef.name : plain?.name;
}

/** Name of the copy of a public template. A name that is the namespace's own, also without such a tag, means none. */
async function findPublicName(deps: CopyDeps, key: ApiKey, text: string): Promise<string | undefined> {
  try {
    return (await findOwnSource(deps, key, text)) === undefined ? (await findCopy(deps, key, text))?.name : undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
