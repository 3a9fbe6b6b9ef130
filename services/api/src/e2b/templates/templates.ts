import type { ApiKey } from '@sandlot/tenancy';
import { listAliases, BY_NAMESPACE } from '../../wiring/informers.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import type { TemplateAnswer } from '../answer/schemas.ts';
import { buildSize } from '../answer/size.ts';
import { findSource } from './find-source.ts';
import type { Source, SourceDeps } from './find-source.ts';

export interface TemplateDeps extends SourceDeps {
  readonly answers: Pick<AnswerOptions, 'envdVersion'>;
}

/** The pools of the key's namespace, and its templates without a pool of the same name, by name. Snapshots have a list of their own. */
export function listTemplates(deps: TemplateDeps, { namespace }: ApiKey): TemplateAnswer[] {
  const { informers, snapshots } = deps;
  const pools = [...informers.pools.store.listByIndex(BY_NAMESPACE, namespace)];
  const poolNames = new Set(pools.map(({ metadata }) => metadata.name));
  const templates = [...informers.templates.store.listByIndex(BY_NAMESPACE, namespace)];
  const sources: Source[] = [
    ...pools.map((object) => ({ kind: 'pool', name: object.metadata.name ?? '', object }) as const),
    ...templates
      .filter((template) => !poolNames.has(template.metadata.name) && snapshots.findSourceOf(template) === undefined)
      .map((object) => ({ kind: 'template', name: object.metadata.name ?? '', object }) as const),
  ];
  return sources.sort((a, b) => (a.name < b.name ? -1 : 1)).map((source) => buildTemplate(deps, source));
}

function buildTemplate({ informers, answers }: TemplateDeps, source: Source): TemplateAnswer {
  const { creationTimestamp = '', uid = '', generation = 1 } = source.object.metadata;
  const created = formatIsoTime(Date.parse(creationTimestamp) || 0);
  const aliases = [source.name, ...listAliases(source.object)];
  return {
    templateID: source.name,
    buildID: uid,
    buildStatus: 'ready',
    buildCount: generation,
    ...buildSize(findSpec({ informers }, source)),
    public: false,
    aliases,
    names: aliases,
    createdAt: created,
    updatedAt: created,
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    envdVersion: answers.envdVersion,
  };
}

/** Finds one template by name or alias. Throws an ApiError 404. */
export async function getTemplate(deps: TemplateDeps, key: ApiKey, text: string): Promise<TemplateAnswer> {
  return buildTemplate(deps, await findSource(deps, key, text));
}

function findSpec({ informers }: Pick<TemplateDeps, 'informers'>, source: Source) {
  if (source.kind === 'template') return source.object.spec;
  const { namespace = '' } = source.object.metadata;
  return informers.templates.store.get(`${namespace}/${source.object.spec.sandboxTemplateRef.name}`)?.spec;
}
