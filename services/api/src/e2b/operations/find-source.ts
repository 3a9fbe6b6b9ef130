import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import type { ApiKey } from '@sandlot/tenancy';
import type { Deps } from '../../wiring/deps.ts';
import { notFound } from '../../errors/api-error.ts';
import { BY_ALIAS } from '../../wiring/informers.ts';
import { isOwnName, parseTemplateName } from '../request/template-name.ts';
import type { Origin } from '../request/template-name.ts';

type OriginDeps = Pick<Deps, 'cache' | 'client'>;

/**
 * What a template's name stands for in the key's namespace: a pool of that name, else a template, else the alias of one of
 * them (E2B contract, mapping to Kubernetes). Throws an ApiError 404, also for what is somebody else's.
 */
export async function findOrigin(deps: OriginDeps, key: ApiKey, text: string): Promise<Origin> {
  const name = parseTemplateName(text);
  const unknown = notFound(`template '${text}' not found`);
  if (name === undefined || !isOwnName(name, key.team)) throw unknown;
  const { namespace } = key;
  const known = shownOrigin(deps, namespace, name.name) ?? (await liveOrigin(deps, namespace, name.name));
  if (known === undefined) throw unknown;
  return known;
}

function shownOrigin({ cache }: OriginDeps, namespace: string, name: string): Origin | undefined {
  const key = `${namespace}/${name}`;
  const [pool] = [cache.pools.store.get(key), ...cache.pools.store.byIndex(BY_ALIAS, key)].filter(isThere);
  if (pool !== undefined) return { kind: 'pool', name: pool.metadata.name ?? '', object: pool };
  const [template] = [cache.templates.store.get(key), ...cache.templates.store.byIndex(BY_ALIAS, key)].filter(isThere);
  return template === undefined
    ? undefined
    : { kind: 'template', name: template.metadata.name ?? '', object: template };
}

/** One that was made a moment ago: the watch may not know it yet. */
async function liveOrigin({ client }: OriginDeps, namespace: string, name: string): Promise<Origin | undefined> {
  const [pool, template] = await Promise.all([
    orNothing(client.get(sandboxWarmPools, { namespace, name })),
    orNothing(client.get(sandboxTemplates, { namespace, name })),
  ]);
  if (pool !== undefined) return { kind: 'pool', name, object: pool };
  return template === undefined ? undefined : { kind: 'template', name, object: template };
}

function isThere<T>(object: T | undefined): object is T {
  return object !== undefined;
}

async function orNothing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
