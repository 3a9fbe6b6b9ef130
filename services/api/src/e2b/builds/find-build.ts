import { labels } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { noBuild } from '../../errors/build-errors.ts';
import type { TemplateBuilds } from '../../state/builds.ts';

export interface FindBuildDeps {
  readonly builds: Pick<TemplateBuilds, 'find' | 'readNow' | 'patch'>;
}

/** A build as clients name it. */
export interface NamedBuild {
  readonly templateID: string;
  readonly buildID: string;
  /** False: as the API server has it now. */
  readonly isCached?: boolean;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The build of that id and template in the key's namespace. Throws an ApiError 400, as E2B does. */
export async function findBuild(
  { builds }: Pick<FindBuildDeps, 'builds'>,
  { namespace }: Pick<ApiKey, 'namespace'>,
  { templateID, buildID, isCached = true }: NamedBuild,
): Promise<SandboxTemplateBuild> {
  const id = buildID.toLowerCase();
  if (!UUID.test(id)) throw noBuild(buildID);
  const build = isCached ? await builds.find(namespace, id) : await builds.readNow(namespace, id);
  if (build?.metadata.labels?.[labels.templateId] !== templateID) throw noBuild(buildID);
  return build;
}
