import type { SandboxTemplate } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import { noTemplate } from '../../errors/build-errors.ts';
import { notEnabled, notPossible } from '../../errors/refusals.ts';
import { listAliases, BY_NAMESPACE } from '../../wiring/informers.ts';
import { buildPlacedPage, newestFirst } from '../answer/placed-page.ts';
import type { Placed, PlacedPage } from '../answer/placed-page.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import type { TemplateAnswer } from '../answer/schemas.ts';
import { buildSize } from '../answer/size.ts';
import type { Size } from '../answer/size.ts';
import { assertTeam } from '../builds/request/read-template.ts';
import { buildBuildAnswer, getCurrentBuild, listBuilds } from './builds.ts';
import type { Build } from './builds.ts';
import {
  buildBuiltAnswer,
  findBuiltTemplate,
  getCreatedMs,
  listBuildsOf,
  listBuiltTemplates,
} from './built/built-listing.ts';
import type { BuiltTemplate, ListingDeps } from './built/built-listing.ts';
import { findBuiltName, findReference, isOwnTeam } from './built/built-name.ts';
import { listTagged } from './built/built-templates.ts';
import { findOwnSource, findPlainTemplate, findSource } from './find-source.ts';
import type { SourceDeps } from './find-source.ts';
import { findPublic, isPublic } from './public/find-public.ts';
import type { PublicDeps } from './public/find-public.ts';
import { publish, unpublish } from './public/publish.ts';
import type { PublishDeps } from './public/publish.ts';
import type { Source } from './source.ts';
import type { TemplateDetail } from './schemas.ts';

export interface TemplateDeps extends SourceDeps, ListingDeps {
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
  assertTeam(teamID, key);
  return buildTemplatePage(deps, key, { limit: Infinity }).items;
}

/** The same list page by page. Throws an ApiError 400 for a malformed token. */
export function buildTemplatePage(deps: TemplateDeps, key: ApiKey, paging: Paging): PlacedPage<TemplateAnswer> {
  const plain = listSources(deps, key).map(({ place, item }) => ({ place, item: () => buildTemplate(deps, item) }));
  const described = { team: key.team, envdVersion: deps.answers.envdVersion };
  const built = listBuiltTemplates(deps, key.namespace).map((template) => ({
    place: { ms: getCreatedMs(template), id: template.templateID },
    item: () => buildBuiltAnswer(template, described),
  }));
  const { items, nextToken } = buildPlacedPage([...plain, ...built], newestFirst, paging);
  return { items: items.map((build) => build()), nextToken };
}

function listSources({ informers, snapshots }: TemplateDeps, { namespace }: ApiKey): readonly Placed<Source>[] {
  const all = [...informers.templates.store.listByIndex(BY_NAMESPACE, namespace)];
  const builtNames = new Set(all.filter(isBuilt).map(({ metadata }) => metadata.name));
  const pools = [...informers.pools.store.listByIndex(BY_NAMESPACE, namespace)].filter(
    ({ metadata }) => !builtNames.has(metadata.name),
  );
  const poolNames = new Set(pools.map(({ metadata }) => metadata.name));
  const templates = all.filter(({ metadata }) => !builtNames.has(metadata.name));
  const sources: Source[] = [
    ...pools.map((object) => ({ kind: 'pool', name: object.metadata.name ?? '', object }) as const),
    ...templates
      .filter((template) => !poolNames.has(template.metadata.name) && snapshots.findSourceOf(template) === undefined)
      .map((object) => ({ kind: 'template', name: object.metadata.name ?? '', object }) as const),
  ];
  return sources.map((item) => ({ place: { ms: getCurrentBuild(item).createdMs, id: item.name }, item }));
}

function isBuilt(template: SandboxTemplate): boolean {
  return findBuiltName(template) !== undefined;
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

interface Asked {
  readonly key: ApiKey;
  readonly text: string;
}

interface DetailPage {
  readonly template: TemplateDetail;
  readonly nextToken: string | undefined;
}

/** One template by name, id or alias, and a page of its builds. Throws an ApiError: 404 for an unknown one, 400 for a malformed token. */
export async function getTemplate(deps: TemplateDeps, { key, text }: Asked, paging: Paging): Promise<DetailPage> {
  const built = await findOwnBuilt(deps, key, text);
  if (built !== undefined) {
    const template = buildBuiltAnswer(built, { team: key.team, envdVersion: deps.answers.envdVersion });
    return addBuilds(deps, { template, builds: listBuildsOf(built) }, paging);
  }
  const source = await findSource(deps, key, text);
  return addBuilds(deps, { template: buildTemplate(deps, source), builds: listBuilds(source) }, paging);
}

function addBuilds(
  { answers: { envdVersion } }: TemplateDeps,
  { template, builds }: { readonly template: TemplateAnswer; readonly builds: readonly Build[] },
  paging: Paging,
): DetailPage {
  const placed = builds.map((item) => ({ place: { ms: item.createdMs, id: item.id }, item }));
  const { items, nextToken } = buildPlacedPage(placed, newestFirst, paging);
  const { cpuCount, memoryMB, diskSizeMB } = template;
  const size = { cpuCount, memoryMB, diskSizeMB };
  return {
    template: { ...template, builds: items.map((build) => buildBuildAnswer(build, size, envdVersion)) },
    nextToken,
  };
}

/**
 * Publishes a template of the key's namespace, or takes it back, and returns its names. Throws an ApiError: 404 for an unknown one, 403
 * where no templates are built, and 400 or 409 for one that cannot be public.
 */
export async function changeTemplate(
  deps: TemplateDeps & PublishDeps,
  key: ApiKey,
  { text, toPublic }: { readonly text: string; readonly toPublic: boolean },
): Promise<readonly string[]> {
  const { template } = await getTemplate(deps, { key, text }, { limit: 1 });
  const built = await findOwnBuilt(deps, key, text);
  if (toPublic) {
    if (deps.informers.builds === undefined) throw notEnabled('publishing templates is');
    if (built === undefined)
      throw notPossible(`template '${text}' was not built over this API, so it cannot be public`);
    await publish(deps, key.namespace, built);
  } else if (built !== undefined) await unpublish(deps, key.namespace, built.templateID);
  return template.names;
}

/** What a name leads to for a create. Throws an ApiError 404. */
export async function findAlias(
  deps: PublicDeps,
  key: ApiKey,
  text: string,
): Promise<{ readonly templateID: string; readonly public: boolean }> {
  const own = await findOwnSource(deps, key, text);
  if (own === undefined) {
    const found = findPublic(deps, key, text);
    if (found === undefined) throw noTemplate(text);
    return { templateID: found.built.templateID, public: true };
  }
  const { name, built } = own;
  if (built === undefined) return { templateID: name, public: false };
  return { templateID: built.templateID, public: isPublic(await listTagged(deps, key.namespace, built.templateID)) };
}

/** The template of the key's namespace that the text means, if a build of the API makes it. Its tag does not matter. */
export async function findOwnBuilt(
  deps: SourceDeps & ListingDeps,
  key: ApiKey,
  text: string,
): Promise<BuiltTemplate | undefined> {
  const reference = findReference(text);
  if (reference === undefined || !isOwnTeam(reference.team, key)) return undefined;
  const { name } = reference;
  // The name of a pool or template always means that one.
  const isPlain = (await findPlainTemplate(deps, key.namespace, name)) !== undefined;
  return isPlain ? undefined : findBuiltTemplate(deps, key.namespace, name);
}

function getSize({ informers }: Pick<TemplateDeps, 'informers'>, source: Source): Size {
  if (source.kind === 'template') return buildSize(source.object.spec);
  const { namespace = '' } = source.object.metadata;
  return buildSize(informers.templates.store.get(`${namespace}/${source.object.spec.sandboxTemplateRef.name}`)?.spec);
}
