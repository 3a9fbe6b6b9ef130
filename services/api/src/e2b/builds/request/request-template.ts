import { annotations, labels } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { carrier } from '@sandlot/telemetry';
import type { ApiKey } from '@sandlot/tenancy';
import { takenName } from '../../../errors/build-errors.ts';
import type { TemplateBuilds } from '../../../state/builds.ts';
import { listNamed } from '../../snapshots/find-snapshot.ts';
import { formatObjectOf } from '../../templates/built/built-name.ts';
import { findPlainTemplate } from '../../templates/find-source.ts';
import type { SourceDeps } from '../../templates/find-source.ts';
import type { RequestedTemplate } from './read-template.ts';

export interface RequestDeps extends SourceDeps {
  readonly builds: TemplateBuilds;
  readonly newBuildId: () => string;
}

/**
 * Makes the build of a template, which waits until its steps are there. Each request makes a build of its own: the template-builder
 * ends those before it. Throws an ApiError 403 for a name that means something else, and 429 for too many builds.
 */
export async function requestTemplate(
  deps: RequestDeps,
  key: ApiKey,
  requested: RequestedTemplate,
): Promise<SandboxTemplateBuild> {
  const { builds } = deps;
  builds.assertEnabled();
  await assertFree(deps, key, requested.name);
  builds.assertRoom(key.namespace);
  return builds.create(buildObject(key, requested, deps.newBuildId()));
}

async function assertFree(deps: RequestDeps, { namespace }: ApiKey, name: string): Promise<void> {
  if ((await findPlainTemplate(deps, namespace, name)) !== undefined) throw takenName(name);
  if ((await listNamed(deps.snapshots, namespace, name)).length > 0) throw takenName(name);
}

function buildObject(
  { namespace, id: keyId }: ApiKey,
  { templateID, name, tags, cpu, memoryMiB, minFreeDiskMiB }: RequestedTemplate,
  id: string,
): SandboxTemplateBuild {
  const trace = carrier.inject();
  const templates = tags.map((tag) => ({
    name: formatObjectOf(templateID, tag),
    labels: { [labels.templateId]: templateID },
    annotations: { [annotations.templateName]: name, [annotations.templateTag]: tag },
  }));
  return {
    metadata: {
      namespace,
      name: id,
      labels: { [labels.templateId]: templateID },
      annotations: {
        [annotations.apiKeyId]: keyId,
        ...(trace === undefined ? {} : { [annotations.traceContext]: trace }),
      },
    },
    spec: {
      paused: true,
      templates,
      ...(cpu === undefined ? {} : { cpu }),
      ...(memoryMiB === undefined ? {} : { memoryMiB }),
      ...(minFreeDiskMiB === undefined ? {} : { minFreeDiskMiB }),
    },
  };
}
