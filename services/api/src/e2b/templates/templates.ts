import type { ApiKey } from '@sandlot/tenancy';
import { badRequest } from '../../errors/api-error.ts';
import { listAliases, BY_NAMESPACE } from '../../wiring/informers.ts';
import { buildPlacedPage, newestFirst } from '../answer/placed-page.ts';
import type { Placed, PlacedPage } from '../answer/placed-page.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import type { TemplateAnswer } from '../answer/schemas.ts';
import { buildSize } from '../answer/size.ts';
import type { Size } from '../answer/size.ts';
import { buildBuildAnswer, getCurrentBuild, listBuilds } from './builds.ts';
import { findSource } from './find-source.ts';
import type { Source, SourceDeps } from './find-source.ts';
import type { TemplateDetail } from './schemas.ts';

export interface TemplateDeps extends SourceDeps {
  readonly answers: Pick<AnswerOptions, 'envdVersion'>;
}

interface Paging {
  readonly limit: number;
  readonly nextToken?: string | undefined;
}

/**
 * The pools of the key's namespace, and its templates without a pool of the same name, newest first. Snapshots have a list of
 * their own. Throws an ApiError 400 for another team.
 */
export function listTemplates(deps: TemplateDeps, key: ApiKey, teamID = ''): readonly TemplateAnswer[] {
  if (teamID !== '' && teamID !== key.namespace && teamID !== key.team) {
    throw badRequest('Team ID param mismatch with the API key');
  }
  return buildTemplatePage(deps, key, { limit: Infinity }).items;
}

/** The same list page by page. Throws an ApiError 400 for a malformed token. */
export function buildTemplatePage(deps: TemplateDeps, key: ApiKey, paging: Paging): PlacedPage<TemplateAnswer> {
  const { items, nextToken } = buildPlacedPage(listSources(deps, key), newestFirst, paging);
  return { items: items.map((source) => buildTemplate(deps, source)), nextToken };
}

function listSources({ informers, snapshots }: TemplateDeps, { namespace }: ApiKey): readonly Placed<Source>[] {
  const pools = [...informers.pools.store.listByIndex(BY_NAMESPACE, namespace)];
  const poolNames = new Set(pools.map(({ metadata }) => metadata.name));
  const templates = [...informers.templates.store.listByIndex(BY_NAMESPACE, namespace)];
  const sources: Source[] = [
    ...pools.map((object) => ({ kind: 'pool', name: object.metadata.name ?? '', object }) as const),
    ...templates
      .filter((template) => !poolNames.has(template.metadata.name) && snapshots.findSourceOf(template) === undefined)
      .map((object) => ({ kind: 'template', name: object.metadata.name ?? '', object }) as const),
  ];
  return sources.map((item) => ({ place: { ms: getCurrentBuild(item).createdMs, id: item.name }, item }));
}

function buildTemplate(deps: TemplateDeps, source: Source): TemplateAnswer {
  const build = getCurrentBuild(source);
  const created = formatIsoTime(build.createdMs);
  const aliases = [source.name, ...listAliases(source.object)];
  return {
    templateID: source.name,
    buildID: build.id,
    buildStatus: 'ready',
    buildCount: listBuilds(source).length,
    ...getSize(deps, source),
    public: false,
    aliases,
    names: aliases,
    createdAt: created,
    updatedAt: created,
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    envdVersion: deps.answers.envdVersion,
  };
}

/** One template by name or alias, and a page of its builds. Throws an ApiError: 404 for an unknown one, 400 for a malformed token. */
export async function getTemplate(
  deps: TemplateDeps,
  { key, text }: { readonly key: ApiKey; readonly text: string },
  paging: Paging,
): Promise<{ readonly template: TemplateDetail; readonly nextToken: string | undefined }> {
  const source = await findSource(deps, key, text);
  const placed = listBuilds(source).map((item) => ({ place: { ms: item.createdMs, id: item.id }, item }));
  const { items, nextToken } = buildPlacedPage(placed, newestFirst, paging);
  const size = getSize(deps, source);
  const builds = items.map((build) => buildBuildAnswer(build, size, deps.answers.envdVersion));
  return { template: { ...buildTemplate(deps, source), builds }, nextToken };
}

function getSize({ informers }: Pick<TemplateDeps, 'informers'>, source: Source): Size {
  if (source.kind === 'template') return buildSize(source.object.spec);
  const { namespace = '' } = source.object.metadata;
  return buildSize(informers.templates.store.get(`${namespace}/${source.object.spec.sandboxTemplateRef.name}`)?.spec);
}
