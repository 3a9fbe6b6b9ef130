import { annotations, formatRfc3339, labels, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { DEFAULT_TAG, findTagProblem } from '@sandlot/template-build';
import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../../../errors/api-error.ts';
import { noTag, noTemplate, takenName } from '../../../errors/build-errors.ts';
import { conflict, notPossible } from '../../../errors/refusals.ts';
import { listNamed } from '../../snapshots/find-snapshot.ts';
import { findPlainTemplate } from '../find-source.ts';
import type { SourceDeps } from '../find-source.ts';
import { findBuiltName, findReference, formatObjectOf, isOwnTeam } from './built-name.ts';
import { findTagged, listIds, listTagged } from './built-templates.ts';
import { ATTEMPTS, isOutrun, replaceTemplate } from './replace-template.ts';

export interface AssignDeps extends SourceDeps {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'patchJson' | 'delete'>;
  readonly clock: Pick<Clock, 'now'>;
}

export interface Assigned {
  readonly tags: readonly string[];
  readonly buildID: string;
}

/**
 * Has tags lead to the build to which `target` leads: the SandboxTemplate of each becomes a copy of that one. Throws an ApiError: 400 for
 * what can be no tag, 404 for an unknown target, 409 where builds change the same tag again and again.
 */
export async function assignTags(
  deps: AssignDeps,
  key: ApiKey,
  { target, tags: asked }: { readonly target: string; readonly tags: readonly string[] },
): Promise<Assigned> {
  const tags = readTags(asked);
  const source = await findTarget(deps, key, target);
  for (const tag of tags) await assignTag(deps, source, tag);
  return { tags, buildID: source.metadata.annotations?.[annotations.buildName] ?? '' };
}

/** As templates have them, each once. Throws an ApiError 400. */
function readTags(asked: readonly string[]): readonly string[] {
  const tags = [...new Set(asked.map((tag) => tag.trim().toLowerCase()))];
  for (const tag of tags) {
    const problem = findTagProblem(tag);
    if (problem !== undefined) throw badRequest(problem);
  }
  return tags;
}

async function findTarget(deps: AssignDeps, key: ApiKey, text: string): Promise<SandboxTemplate> {
  const reference = findReference(text);
  if (reference === undefined || !isOwnTeam(reference.team, key)) throw noTemplate(text);
  const { name, tag = DEFAULT_TAG } = reference;
  const { namespace } = key;
  await assertBuilt(deps, key, name);
  for (const templateID of listIds(namespace, name)) {
    const found = await findTagged(deps, { namespace, templateID, tag });
    if (found !== undefined) return found;
    if ((await listTagged(deps, namespace, templateID)).length > 0) throw noTag(tag, name);
  }
  throw noTemplate(text);
}

/** Throws an ApiError 400 for a pool, a template or a snapshot that no build of the API made: its tags are what they are. */
async function assertBuilt(deps: AssignDeps, { namespace }: ApiKey, name: string): Promise<void> {
  const isOther =
    (await findPlainTemplate(deps, namespace, name)) !== undefined ||
    (await listNamed(deps.snapshots, namespace, name)).length > 0;
  if (isOther) throw notPossible(`template '${name}' was not built over this API, so its tags cannot be changed`);
}

async function assignTag(deps: AssignDeps, source: SandboxTemplate, tag: string): Promise<void> {
  const copy = buildCopy(source, tag, deps.clock.now());
  if (copy.metadata.name === source.metadata.name) return;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      await write(deps, copy);
      return;
    } catch (error) {
      if (!(error instanceof Error) || !isOutrun(error)) throw error;
    }
  }
  throw conflict(`tag '${tag}' is being changed; try again`);
}

async function write(deps: AssignDeps, copy: SandboxTemplate): Promise<void> {
  const { namespace, name = '' } = copy.metadata;
  const present = await deps.client.find(sandboxTemplates, { namespace, name });
  if (present === undefined) await deps.client.create(sandboxTemplates, copy);
  else if (findBuiltName(present) === undefined) throw takenName(name);
  else await replaceTemplate(deps.client, present, copy);
}

/** The same template for another tag. Clients see the build that made it, and not that it is a copy. */
function buildCopy({ metadata, spec }: SandboxTemplate, tag: string, nowMs: number): SandboxTemplate {
  const { [labels.templateId]: templateID = '' } = metadata.labels ?? {};
  return {
    metadata: {
      namespace: metadata.namespace,
      name: formatObjectOf(templateID, tag),
      labels: pick(metadata.labels, [labels.templateId, labels.builtBy, labels.templateBuild]),
      annotations: {
        ...pick(metadata.annotations, [annotations.templateName, annotations.buildName]),
        [annotations.templateTag]: tag,
        [annotations.taggedAt]: formatRfc3339(nowMs),
      },
    },
    spec,
  };
}

/** The entries of a map of labels or annotations with these keys. */
export function pick(
  map: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => keys.includes(key)));
}

/**
 * Takes tags from a template of the key's namespace, with their pools. One that it does not have is no error. Throws an ApiError: 400 for
 * a name with a tag and for the default tag, 404 for an unknown template.
 */
export async function removeTags(
  deps: AssignDeps,
  key: ApiKey,
  { name: text, tags: asked }: { readonly name: string; readonly tags: readonly string[] },
): Promise<void> {
  const reference = findReference(text);
  if (reference?.tag !== undefined) throw badRequest('name: the template without a tag is expected');
  const tags = readTags(asked);
  if (tags.includes(DEFAULT_TAG)) throw badRequest("Cannot delete the 'default' tag");
  if (reference === undefined || !isOwnTeam(reference.team, key)) throw noTemplate(text);
  await assertBuilt(deps, key, reference.name);
  const templateID = await findOwnId(deps, key.namespace, reference.name);
  if (templateID === undefined) throw noTemplate(text);
  for (const tag of tags) {
    const found = await findTagged(deps, { namespace: key.namespace, templateID, tag });
    if (found !== undefined) await deleteTemplate(deps, found);
  }
}

async function findOwnId(deps: AssignDeps, namespace: string, name: string): Promise<string | undefined> {
  for (const templateID of listIds(namespace, name)) {
    if ((await listTagged(deps, namespace, templateID)).length > 0) return templateID;
  }
  return undefined;
}

/** Deletes a SandboxTemplate, and before it the pool of the same name, which could start nothing without it. Rejects with a KubeError. */
export async function deleteTemplate(
  { client }: { readonly client: Pick<KubeClient, 'find' | 'delete'> },
  { metadata: { namespace, name = '', uid } }: SandboxTemplate,
): Promise<void> {
  const pool = await client.find(sandboxWarmPools, { namespace, name });
  if (pool?.spec.sandboxTemplateRef.name === name)
    await unlessGone(() => client.delete(sandboxWarmPools, { namespace, name }, { uid: pool.metadata.uid }));
  await unlessGone(() => client.delete(sandboxTemplates, { namespace, name }, { uid }));
}

async function unlessGone(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Error) || !isNotFound(error)) throw error;
  }
}
