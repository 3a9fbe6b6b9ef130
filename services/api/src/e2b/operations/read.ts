import { isMadeByApi } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import type { Deps } from '../../wiring/deps.ts';
import { notFound } from '../../errors/api-error.ts';
import type { Answer } from '../../http/route.ts';
import { BY_NAMESPACE, aliasesOf } from '../../wiring/informers.ts';
import { findOrigin } from './find-source.ts';
import { ownSandbox } from './lifecycle.ts';
import { createdAtMs } from '../../claim/lifetime.ts';
import { filterOf, pageOf } from '../request/list.ts';
import type { Entry } from '../request/list.ts';
import type { ListQuery, SandboxDetail, TemplateAnswer } from '../request/schemas.ts';
import type { Origin } from '../request/template-name.ts';
import { tokensOf, viewOptions } from '../answer/tokens.ts';
import { detailOf, iso, isOver, listedOf, sizeOf } from '../answer/view.ts';

/** Every sandbox of the key's team that its caller was given and that is not over. */
export function sandboxesOf(deps: Deps, { namespace }: ApiKey): Entry[] {
  const { world, clock } = deps;
  const options = viewOptions(deps);
  const listed: Entry[] = [];
  for (const claim of world.claims.all([BY_NAMESPACE, namespace], ({ metadata }) => metadata.namespace === namespace)) {
    const { metadata, status } = claim;
    const isGone = metadata.deletionTimestamp !== undefined || isOver(claim, clock.now());
    if (isGone || !isMadeByApi(claim) || status?.completionTime === undefined) continue;
    listed.push({ sandbox: listedOf(world.held(claim), options), createdMs: createdAtMs(claim) });
  }
  return listed;
}

export function listSandboxes(deps: Deps, key: ApiKey, query: ListQuery): Answer {
  const wanted = filterOf(query);
  const { items, nextToken } = pageOf(
    sandboxesOf(deps, key).filter(({ sandbox }) => wanted(sandbox)),
    query,
  );
  return { status: 200, body: items, headers: nextToken === undefined ? {} : { 'x-next-token': nextToken } };
}

export async function sandboxDetail(deps: Deps, key: ApiKey, id: string): Promise<SandboxDetail> {
  const held = await ownSandbox(deps, key, id);
  return detailOf(held, tokensOf(deps, held.claim), viewOptions(deps));
}

/** Pools of the key's namespace, and templates that have no pool of their name. */
export function templatesOf({ cache, settings }: Deps, { namespace }: ApiKey): TemplateAnswer[] {
  const pools = [...cache.pools.store.byIndex(BY_NAMESPACE, namespace)];
  const names = new Set(pools.map(({ metadata }) => metadata.name));
  const templates = [...cache.templates.store.byIndex(BY_NAMESPACE, namespace)];
  const origins: Origin[] = [
    ...pools.map((object) => ({ kind: 'pool', name: object.metadata.name ?? '', object }) as const),
    ...templates
      .filter(({ metadata }) => !names.has(metadata.name))
      .map((object) => ({ kind: 'template', name: object.metadata.name ?? '', object }) as const),
  ];
  return origins
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((origin) => {
      const template = templateSpecOf({ cache }, origin);
      const { creationTimestamp = '', uid = '', generation = 1 } = origin.object.metadata;
      const created = iso(Date.parse(creationTimestamp) || 0);
      const aliases = [origin.name, ...aliasesOf(origin.object)];
      return {
        templateID: origin.name,
        buildID: uid,
        buildStatus: 'ready',
        buildCount: generation,
        ...sizeOf(template),
        public: false,
        aliases,
        names: aliases,
        createdAt: created,
        updatedAt: created,
        createdBy: null,
        lastSpawnedAt: null,
        spawnCount: 0,
        envdVersion: settings.ENVD_VERSION,
      };
    });
}

function templateSpecOf({ cache }: Pick<Deps, 'cache'>, origin: Origin) {
  if (origin.kind === 'template') return origin.object.spec;
  const { namespace = '' } = origin.object.metadata;
  return cache.templates.store.get(`${namespace}/${origin.object.spec.sandboxTemplateRef.name}`)?.spec;
}

export async function oneTemplate(deps: Deps, key: ApiKey, text: string): Promise<TemplateAnswer> {
  const { name } = await findOrigin(deps, key, text);
  const found = templatesOf(deps, key).find(({ templateID }) => templateID === name);
  if (found === undefined) throw notFound(`template '${text}' not found`);
  return found;
}
