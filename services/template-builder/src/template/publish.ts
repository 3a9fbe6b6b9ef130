import {
  annotations,
  buildMessages,
  buildReasons,
  labels,
  sandboxTemplates,
  sandboxWarmPools,
} from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateBuild, SandboxTemplateSpec } from '@sandlot/api-types';
import { isAlreadyExists, isForbidden, isInvalid } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { BuildFailure } from '../run/build-failure.ts';
import type { BuildResult } from '../run/run-build.ts';
import { buildTemplateSpec } from './template-spec.ts';

/** In `labels.builtBy`: which kind of object made the template. */
const BUILT_BY = 'template-build';

export interface PublishDeps {
  readonly client: Pick<KubeClient, 'create' | 'find' | 'mergePatch'>;
  readonly defaults: Partial<SandboxTemplateSpec>;
  /** Members of the pool that each template gets that has none. 0: none. */
  readonly poolReplicas: number;
}

/** Creates the templates of a build, or gives them the new image. Throws a BuildFailure for one that others made, or that is refused. */
export async function publishTemplates(
  deps: PublishDeps,
  build: SandboxTemplateBuild,
  { result, signal }: { readonly result: BuildResult; readonly signal: AbortSignal },
): Promise<void> {
  for (const wanted of build.spec.templates) {
    const template = buildTemplate(build, wanted, { result, defaults: deps.defaults });
    try {
      const published = await publish(deps, template, signal);
      if (deps.poolReplicas > 0) await createPool(deps, published, signal);
    } catch (error) {
      if (!(error instanceof Error) || !(isForbidden(error) || isInvalid(error))) throw error;
      const message = buildMessages.templateRefused(wanted.name, error.message);
      throw new BuildFailure(buildReasons.templateRefused, message, 'finalize');
    }
  }
}

/** Keys of ours that the author of a build may give its templates. The others have a meaning to the services, which no author may forge. */
const OPEN_LABELS: readonly string[] = [labels.templateId];
const OPEN_ANNOTATIONS: readonly string[] = [annotations.templateName, annotations.templateTag, annotations.aliases];

const RESERVED = /^(?:(?:extensions\.)?agents\.x-k8s\.io|sandlot\.dev)\//u;

function dropReserved(
  given: Readonly<Record<string, string>> | undefined,
  open: readonly string[],
): Readonly<Record<string, string>> {
  const kept = Object.entries(given ?? {}).filter(([key]) => open.includes(key) || !RESERVED.test(key));
  return Object.fromEntries(kept);
}

function buildTemplate(
  { metadata, spec }: SandboxTemplateBuild,
  wanted: SandboxTemplateBuild['spec']['templates'][number],
  {
    result: { image, state },
    defaults,
  }: { readonly result: BuildResult; readonly defaults: Partial<SandboxTemplateSpec> },
): SandboxTemplate {
  const commands = { start: spec.startCommand, ready: spec.readyCommand };
  return {
    metadata: {
      namespace: metadata.namespace,
      name: wanted.name,
      labels: {
        ...dropReserved(wanted.labels, OPEN_LABELS),
        [labels.builtBy]: BUILT_BY,
        [labels.templateBuild]: metadata.uid ?? '',
      },
      annotations: {
        ...dropReserved(wanted.annotations, OPEN_ANNOTATIONS),
        [annotations.buildName]: metadata.name ?? '',
      },
    },
    spec: buildTemplateSpec({ ...spec, image: image.image, state, commands }, defaults),
  };
}

/** One write, guarded by the object that was looked at: a template that changed meanwhile is looked at again by the next attempt. */
async function publish(
  { client }: PublishDeps,
  template: SandboxTemplate,
  signal: AbortSignal,
): Promise<SandboxTemplate> {
  const key = { namespace: template.metadata.namespace ?? '', name: template.metadata.name ?? '' };
  const present = await client.find(sandboxTemplates, key, { signal });
  if (present === undefined) return client.create(sandboxTemplates, template, { signal });
  if (present.metadata.labels?.[labels.builtBy] === undefined)
    throw new BuildFailure(buildReasons.templateExists, buildMessages.templateExists(key.name), 'finalize');
  const { uid, resourceVersion } = present.metadata;
  const metadata = {
    labels: template.metadata.labels,
    annotations: template.metadata.annotations,
    uid,
    resourceVersion,
  };
  const spec = { podTemplate: template.spec.podTemplate };
  return client.mergePatch(sandboxTemplates, key, { metadata, spec }, { signal });
}

/** A pool of the same name, which goes with the template. One that is there stays as its owner wants it. */
async function createPool(
  { client, poolReplicas }: PublishDeps,
  { metadata }: SandboxTemplate,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name = '', uid = '' } = metadata;
  const { group, version, kind } = sandboxTemplates;
  const owner = { apiVersion: `${group}/${version}`, kind, name, uid, controller: true };
  const pool = {
    metadata: { namespace, name, ownerReferences: [owner] },
    spec: { replicas: poolReplicas, sandboxTemplateRef: { name } },
  };
  try {
    await client.create(sandboxWarmPools, pool, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
