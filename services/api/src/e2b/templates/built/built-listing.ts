// Templates that were built over the API, as lists and details show them: one for each id, whatever its tags.
import { annotations, labels } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateBuild } from '@sandlot/api-types';
import type { TemplateBuilds } from '../../../state/builds.ts';
import { BY_NAMESPACE } from '../../../wiring/informers.ts';
import { formatIsoTime } from '../../answer/sandbox.ts';
import type { TemplateAnswer } from '../../answer/schemas.ts';
import { buildSize } from '../../answer/size.ts';
import type { Size } from '../../answer/size.ts';
import { getBuildStatus } from '../../builds/progress/build-state.ts';
import type { Build } from '../builds.ts';
import { isPublic } from '../public/find-public.ts';
import { findBuiltName } from './built-name.ts';
import { listIds, listTagged } from './built-templates.ts';
import type { BuiltDeps } from './built-templates.ts';

export interface ListingDeps extends BuiltDeps {
  readonly builds: Pick<TemplateBuilds, 'listOf' | 'listNamespace' | 'listNow'>;
}

export interface BuiltTemplate {
  readonly templateID: string;
  readonly name: string;
  /** One for each tag; empty before the first build has ended well. */
  readonly tagged: readonly SandboxTemplate[];
  /** Those that are kept, in no order. */
  readonly builds: readonly SandboxTemplateBuild[];
}

/** Those of a namespace. */
export function listBuiltTemplates({ informers, builds }: ListingDeps, namespace: string): readonly BuiltTemplate[] {
  const tagged = [...informers.templates.store.listByIndex(BY_NAMESPACE, namespace)].filter(
    (template) => findBuiltName(template) !== undefined,
  );
  const byId = Map.groupBy(tagged, (template) => template.metadata.labels?.[labels.templateId] ?? '');
  const buildsById = Map.groupBy(
    builds.listNamespace(namespace).filter((build) => findRequestedName(build) !== undefined),
    ({ metadata }) => metadata.labels?.[labels.templateId] ?? '',
  );
  const ids = new Set([...byId.keys(), ...buildsById.keys()]);
  return [...ids].flatMap((id) => toBuiltTemplate(id, byId.get(id) ?? [], buildsById.get(id) ?? []) ?? []);
}

/** The template of that name or id, also one whose first build has not ended. Rejects with a KubeError. */
export async function findBuiltTemplate(
  deps: ListingDeps,
  namespace: string,
  name: string,
): Promise<BuiltTemplate | undefined> {
  for (const templateID of listIds(namespace, name)) {
    const tagged = await listTagged(deps, namespace, templateID);
    const known = deps.builds.listOf(namespace, templateID);
    const builds = known.length + tagged.length > 0 ? known : await deps.builds.listNow(namespace, templateID);
    const found = toBuiltTemplate(templateID, tagged, builds);
    if (found !== undefined) return found;
  }
  return undefined;
}

function toBuiltTemplate(
  templateID: string,
  tagged: readonly SandboxTemplate[],
  builds: readonly SandboxTemplateBuild[],
): BuiltTemplate | undefined {
  const [template] = tagged;
  const [build] = builds;
  const name = template === undefined ? findRequestedName(build) : findBuiltName(template)?.name;
  return name === undefined ? undefined : { templateID, name, tagged, builds };
}

/** The name for which the API made a build; undefined for one that was made in another way. */
function findRequestedName(build: SandboxTemplateBuild | undefined): string | undefined {
  return build?.spec.templates[0]?.annotations?.[annotations.templateName];
}

/** The builds of a template. One that is not kept any more is shown as far as its templates say it. */
export function listBuildsOf({ tagged, builds }: BuiltTemplate): readonly Build[] {
  const kept = new Map(builds.map((build) => [build.metadata.name ?? '', toBuild(build)]));
  for (const template of tagged) {
    const build = getBuildOf(template, builds);
    if (!kept.has(build.id)) kept.set(build.id, build);
  }
  return [...kept.values()];
}

/** The build that has made what a tag leads to. */
export function getBuildOf(template: SandboxTemplate, builds: readonly SandboxTemplateBuild[]): Build {
  const id = template.metadata.annotations?.[annotations.buildName] ?? '';
  const found = builds.find(({ metadata }) => metadata.name === id);
  if (found !== undefined) return toBuild(found);
  const createdMs = toMs(template.metadata.creationTimestamp);
  return { id, createdMs, finishedMs: createdMs, status: 'ready', size: buildSize(template.spec) };
}

function toBuild(build: SandboxTemplateBuild): Build {
  const { metadata, status } = build;
  const finishedMs = status?.finishedAt === undefined ? undefined : toMs(status.finishedAt);
  return {
    id: metadata.name ?? '',
    createdMs: toMs(metadata.creationTimestamp),
    finishedMs,
    status: getBuildStatus(build),
    size: getAskedSize(build),
  };
}

/** What the template-builder takes where a request does not say it. */
const USUAL = { cpu: 2, memoryMiB: 1_024 };

function getAskedSize({ spec: { cpu, memoryMiB } }: SandboxTemplateBuild): Size {
  return { cpuCount: cpu ?? USUAL.cpu, memoryMB: memoryMiB ?? USUAL.memoryMiB, diskSizeMB: 0 };
}

/** The build from which a create without a tag starts, else the newest good one, else the newest. */
function getShownBuild({ templateID, tagged, builds }: BuiltTemplate): Build | undefined {
  const main = tagged.find(({ metadata }) => metadata.name === templateID);
  const good = (main === undefined ? tagged : [main]).map((template) => getBuildOf(template, builds));
  return takeNewest(good) ?? takeNewest(builds.map(toBuild));
}

function takeNewest(builds: readonly Build[]): Build | undefined {
  return builds.toSorted((a, b) => b.createdMs - a.createdMs)[0];
}

export function getCreatedMs({ tagged, builds }: BuiltTemplate): number {
  return Math.min(...[...tagged, ...builds].map(({ metadata }) => toMs(metadata.creationTimestamp)));
}

/** A template as lists show it. */
export function buildBuiltAnswer(
  template: BuiltTemplate,
  { team, envdVersion }: { readonly team: string; readonly envdVersion: string },
): TemplateAnswer {
  const { templateID, name, tagged } = template;
  const all = listBuildsOf(template);
  const shown = getShownBuild(template);
  const spec = (tagged.find(({ metadata }) => metadata.name === templateID) ?? tagged[0])?.spec;
  const updatedMs = Math.max(...all.map(({ createdMs, finishedMs = createdMs }) => finishedMs));
  return {
    templateID,
    buildID: shown?.id ?? '',
    buildStatus: shown?.status ?? 'waiting',
    buildCount: all.length,
    ...(spec === undefined ? (shown?.size ?? buildSize(undefined)) : buildSize(spec)),
    public: isPublic(tagged),
    aliases: [name],
    names: [`${team}/${name}`],
    createdAt: formatIsoTime(getCreatedMs(template)),
    updatedAt: formatIsoTime(updatedMs),
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    envdVersion,
  };
}

/** Epoch milliseconds; 0 for a time that cannot be read. */
function toMs(text: string | undefined): number {
  return Date.parse(text ?? '') || 0;
}
