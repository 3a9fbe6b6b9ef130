import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { ApiKey } from '@sandlot/tenancy';
import { notFound } from '../../errors/api-error.ts';
import { BY_ALIAS } from '../../wiring/informers.ts';
import type { Informers } from '../../wiring/informers.ts';
import { isOwnName, parseTemplateName } from './template-name.ts';

/** What a claim starts from: a pool, or a template without a pool. */
export type Source =
  | { readonly kind: 'pool'; readonly name: string; readonly object: SandboxWarmPool }
  | { readonly kind: 'template'; readonly name: string; readonly object: SandboxTemplate };

export interface SourceDeps {
  readonly informers: Pick<Informers, 'pools' | 'templates'>;
  readonly client: Pick<KubeClient, 'find'>;
}

/**
 * Resolves a templateID in the key's namespace: the pool of that name or alias, else the template of that name or alias
 * (docs/reference/e2b-api.md#mapping-to-kubernetes). Throws an ApiError 404, also for a name of another team.
 */
export async function findSource(deps: SourceDeps, key: ApiKey, text: string): Promise<Source> {
  const name = parseTemplateName(text);
  const unknown = notFound(`template '${text}' not found`);
  if (name === undefined || !isOwnName(name, key.team)) throw unknown;
  const { namespace } = key;
  const source = findCachedSource(deps, namespace, name.name) ?? (await readSource(deps, namespace, name.name));
  if (source === undefined) throw unknown;
  return source;
}

function findCachedSource(
  { informers: { pools, templates } }: SourceDeps,
  namespace: string,
  name: string,
): Source | undefined {
  const key = `${namespace}/${name}`;
  const [pool] = [pools.store.get(key), ...pools.store.listByIndex(BY_ALIAS, key)].filter(isDefined);
  if (pool !== undefined) return { kind: 'pool', name: pool.metadata.name ?? '', object: pool };
  const [template] = [templates.store.get(key), ...templates.store.listByIndex(BY_ALIAS, key)].filter(isDefined);
  return template === undefined
    ? undefined
    : { kind: 'template', name: template.metadata.name ?? '', object: template };
}

/** Reads a pool or template that was created a moment ago, which the informers may not have yet. */
async function readSource({ client }: SourceDeps, namespace: string, name: string): Promise<Source | undefined> {
  const [pool, template] = await Promise.all([
    client.find(sandboxWarmPools, { namespace, name }),
    client.find(sandboxTemplates, { namespace, name }),
  ]);
  if (pool !== undefined) return { kind: 'pool', name, object: pool };
  return template === undefined ? undefined : { kind: 'template', name, object: template };
}

function isDefined<T>(object: T | undefined): object is T {
  return object !== undefined;
}
