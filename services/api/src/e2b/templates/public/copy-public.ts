import { annotations, labels, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { ApiKey } from '@sandlot/tenancy';
import { noTemplate } from '../../../errors/build-errors.ts';
import { conflict } from '../../../errors/refusals.ts';
import { isCopy } from '../../../state/of-running-build.ts';
import { pick } from '../built/assign-tags.ts';
import { findBuiltName } from '../built/built-name.ts';
import { ATTEMPTS, isOutrun, replaceTemplate } from '../built/replace-template.ts';
import { findOwnSource } from '../find-source.ts';
import type { Source } from '../source.ts';
import { findPublic } from './find-public.ts';
import type { PublicDeps, PublicTemplate } from './find-public.ts';
import { buildCopySpec, findClosedField } from './public-spec.ts';

export interface CopyDeps extends PublicDeps {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'patchJson'>;
}

/**
 * What a create starts from: what the text means in the key's namespace, else the copy of a public template. Throws an ApiError: 404 if
 * it means neither, 409 if the copy cannot be made.
 */
export async function findStart(deps: CopyDeps, key: ApiKey, text: string): Promise<Source> {
  const own = await findOwnSource(deps, key, text);
  if (own !== undefined) return own;
  const copy = await findCopy(deps, key, text);
  if (copy === undefined) throw noTemplate(text);
  return copy;
}

/** For a key whose own namespace has nothing of that name. Throws an ApiError like {@link findStart}. */
export async function findCopy(deps: CopyDeps, key: ApiKey, text: string): Promise<Source | undefined> {
  const found = findPublic(deps, key, text);
  return found === undefined ? undefined : copyPublic(deps, key.namespace, { text, found });
}

interface Asked {
  readonly text: string;
  readonly found: PublicTemplate;
}

/**
 * The copy of a public template in the namespace, made or brought up to date if need be. Throws an ApiError: 404 for a template that may
 * no longer be copied, 409 for an object of the same name, or where writes of others come first again and again.
 */
async function copyPublic(deps: CopyDeps, namespace: string, { text, found }: Asked): Promise<Source> {
  const { built, object } = found;
  const { name = '' } = object.metadata;
  const cached = deps.informers.templates.store.get(`${namespace}/${name}`);
  if (cached !== undefined && isUpToDate(cached, object)) return { kind: 'template', name, object: cached, built };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      const copy = await writeCopy(deps, namespace, { text, found });
      return { kind: 'template', name, object: copy, built };
    } catch (error) {
      if (!(error instanceof Error) || !isOutrun(error)) throw error;
    }
  }
  throw conflict(`template '${text}' is being changed; try again`);
}

async function writeCopy({ client }: CopyDeps, namespace: string, { text, found }: Asked): Promise<SandboxTemplate> {
  const { namespace: from, name = '' } = found.object.metadata;
  // As it is now: a replica whose watch is behind would put an older build in place of a newer one.
  const source = await client.find(sandboxTemplates, { namespace: from, name });
  // Its owner may have changed it since it was published.
  if (source === undefined || findBuiltName(source) === undefined || findClosedField(source.spec) !== undefined)
    throw noTemplate(text);
  const copy = buildCopy(source, namespace);
  const present = await client.find(sandboxTemplates, { namespace, name });
  if (present === undefined) return client.create(sandboxTemplates, copy);
  if (!isCopy(present)) throw conflict(`template '${text}' cannot be used: another one has its id in your namespace`);
  if (isUpToDate(present, source)) return present;
  await replaceTemplate(client, present, copy);
  return copy;
}

function isUpToDate({ metadata: copy }: SandboxTemplate, { metadata: source }: SandboxTemplate): boolean {
  const { [annotations.copiedFrom]: from, [annotations.buildName]: build } = copy.annotations ?? {};
  return from === source.namespace && build === source.annotations?.[annotations.buildName];
}

function buildCopy({ metadata, spec }: SandboxTemplate, namespace: string): SandboxTemplate {
  return {
    metadata: {
      namespace,
      name: metadata.name,
      labels: pick(metadata.labels, [labels.builtBy, labels.templateId, labels.templateBuild]),
      annotations: {
        ...pick(metadata.annotations, [annotations.templateName, annotations.templateTag, annotations.buildName]),
        [annotations.copiedFrom]: metadata.namespace ?? '',
      },
    },
    spec: buildCopySpec(spec),
  };
}
