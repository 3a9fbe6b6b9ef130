import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { ApiKey } from '@sandlot/tenancy';
import { DEFAULT_TAG } from '@sandlot/template-build';
import { noTag, noTemplate } from '../../errors/build-errors.ts';
import { isCopy, isHiddenTemplate } from '../../state/of-running-build.ts';
import { isUsable } from '../../state/snapshots.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { BY_ALIAS } from '../../wiring/informers.ts';
import type { Informers } from '../../wiring/informers.ts';
import { findOwnReference, findTagged, listNamed } from '../snapshots/find-snapshot.ts';
import { findBuiltName, findReference, isOwnTeam } from './built/built-name.ts';
import { findBuilt } from './built/built-templates.ts';
import type { BuiltDeps } from './built/built-templates.ts';
import type { Source } from './source.ts';
import { isObjectName, isOwnName, parseTemplateName } from './template-name.ts';

export interface SourceDeps {
  readonly informers: Pick<Informers, 'pools' | 'templates'>;
  readonly client: Pick<KubeClient, 'find'>;
  readonly snapshots: Snapshots;
}

/**
 * Resolves a templateID in the key's namespace: the pool of that name or alias, else the template of that name or alias, else what
 * was built under that name or id, else the snapshot of that name (docs/reference/e2b-api.md#mapping-to-kubernetes). Throws an
 * ApiError 404, also for a name of another team.
 */
export async function findSource(deps: SourceDeps, key: ApiKey, text: string): Promise<Source> {
  const found = await findOwnSource(deps, key, text);
  if (found === undefined) throw noTemplate(text);
  return found;
}

/** Like {@link findSource}; undefined: the key's namespace has nothing of that name. */
export async function findOwnSource(deps: SourceDeps, key: ApiKey, text: string): Promise<Source | undefined> {
  return (await findOwnTemplate(deps, key, text)) ?? findNamedSnapshot(deps, key, text);
}

/** The pool or template that the text names in the key's namespace. Throws an ApiError 404 for the template of a fork. */
export async function findOwnTemplate(deps: SourceDeps, key: ApiKey, text: string): Promise<Source | undefined> {
  const name = parseTemplateName(text);
  const plain =
    name !== undefined && isOwnName(name, key.team)
      ? await findPlainTemplate(deps, key.namespace, name.name)
      : undefined;
  if (plain !== undefined) return addSnapshot(deps, plain, text);
  const reference = findReference(text);
  return reference === undefined || !isOwnTeam(reference.team, key)
    ? undefined
    : findBuilt(deps, key.namespace, reference);
}

/** The pool or template of that name or alias that no build of the API made. Rejects with a KubeError. */
export async function findPlainTemplate(deps: BuiltDeps, namespace: string, name: string): Promise<Source | undefined> {
  if (!isObjectName(name)) return undefined;
  const found = await findTemplateByName(deps, namespace, name);
  if (found === undefined) return undefined;
  const template = found.kind === 'template' ? found.object : await findTemplateOf(deps, found);
  const isHidden = template !== undefined && (isHiddenTemplate(template) || findBuiltName(template) !== undefined);
  return isHidden && template.metadata.name === name ? undefined : found;
}

/** A template that a snapshot made is for clients only while the snapshot is: that of a fork never is. */
async function addSnapshot({ snapshots }: SourceDeps, found: Source, text: string): Promise<Source> {
  if (found.kind === 'pool') return found;
  const snapshot = await snapshots.readSourceOf(found.object);
  if (snapshot === undefined) return found;
  if (snapshot === 'gone' || !isUsable(snapshot)) throw noTemplate(text);
  return { ...found, snapshot };
}

async function findNamedSnapshot(deps: SourceDeps, key: ApiKey, text: string): Promise<Source | undefined> {
  const reference = deps.snapshots.isEnabled ? findOwnReference(key, text) : undefined;
  if (reference === undefined) return undefined;
  const { name, tag } = reference;
  const named = await listNamed(deps.snapshots, key.namespace, name);
  if (named.length === 0) return undefined;
  const snapshot = findTagged(named, reference);
  if (snapshot === undefined) throw noTag(tag ?? DEFAULT_TAG, name);
  const source = await findTemplateByName(deps, key.namespace, snapshot.spec.templateName ?? '');
  if (source?.kind !== 'template') throw noTemplate(text);
  return { ...source, snapshot };
}

/**
 * The pool or template of that name or alias, also one that the informers do not have yet, but no copy of a public one. Rejects with a
 * KubeError.
 */
export async function findTemplateByName(
  deps: BuiltDeps,
  namespace: string,
  name: string,
): Promise<Source | undefined> {
  const found = findCachedSource(deps, namespace, name) ?? (await readSource(deps, namespace, name));
  return found?.kind === 'template' && isCopy(found.object) ? undefined : found;
}

/** The template of a source, also one that the informers do not have yet; undefined if there is none. Rejects with a KubeError. */
export async function findTemplateOf(
  { informers, client }: Pick<SourceDeps, 'informers' | 'client'>,
  source: Source,
): Promise<SandboxTemplate | undefined> {
  if (source.kind === 'template') return source.object;
  const { metadata, spec } = source.object;
  const key = { namespace: metadata.namespace ?? '', name: spec.sandboxTemplateRef.name };
  const cached = informers.templates.store.get(`${key.namespace}/${key.name}`);
  return cached ?? client.find(sandboxTemplates, key);
}

function findCachedSource(
  { informers: { pools, templates } }: BuiltDeps,
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
async function readSource({ client }: BuiltDeps, namespace: string, name: string): Promise<Source | undefined> {
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
