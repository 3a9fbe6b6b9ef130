import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import type { ApiKey } from '@sandlot/tenancy';
import { notFound } from '../../errors/api-error.ts';
import type { ApiError } from '../../errors/api-error.ts';
import { isUsable } from '../../state/snapshots.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { BY_ALIAS } from '../../wiring/informers.ts';
import type { Informers } from '../../wiring/informers.ts';
import { findOwnReference, findTagged, listNamed } from '../snapshots/find-snapshot.ts';
import { isOwnName, parseTemplateName } from './template-name.ts';

/** What a claim starts from: a pool, or a template without a pool. */
export type Source =
  | { readonly kind: 'pool'; readonly name: string; readonly object: SandboxWarmPool }
  | {
      readonly kind: 'template';
      readonly name: string;
      readonly object: SandboxTemplate;
      /** The snapshot that made the template, if a client of the API asked for it. */
      readonly snapshot?: SandboxSnapshot;
    };

export interface SourceDeps {
  readonly informers: Pick<Informers, 'pools' | 'templates'>;
  readonly client: Pick<KubeClient, 'find'>;
  readonly snapshots: Snapshots;
}

/**
 * Resolves a templateID in the key's namespace: the pool of that name or alias, else the template of that name or alias, else
 * the snapshot of that name (docs/reference/e2b-api.md#mapping-to-kubernetes). Throws an ApiError 404, also for a name of
 * another team.
 */
export async function findSource(deps: SourceDeps, key: ApiKey, text: string): Promise<Source> {
  return (await findOwnTemplate(deps, key, text)) ?? findNamedSnapshot(deps, key, text);
}

/** The pool or template that the text names in the key's namespace. Throws an ApiError 404 for the template of a fork. */
export async function findOwnTemplate(deps: SourceDeps, key: ApiKey, text: string): Promise<Source | undefined> {
  const name = parseTemplateName(text);
  if (name === undefined || !isOwnName(name, key.team)) return undefined;
  const found = await findTemplateByName(deps, key.namespace, name.name);
  return found === undefined ? undefined : addSnapshot(deps, found, text);
}

export function unknownTemplate(text: string): ApiError {
  return notFound(`template '${text}' not found`);
}

/** A template that a snapshot made is for clients only while the snapshot is: that of a fork never is. */
async function addSnapshot({ snapshots }: SourceDeps, found: Source, text: string): Promise<Source> {
  if (found.kind === 'pool') return found;
  const snapshot = await snapshots.readSourceOf(found.object);
  if (snapshot === undefined) return found;
  if (snapshot === 'gone' || !isUsable(snapshot)) throw unknownTemplate(text);
  return { ...found, snapshot };
}

async function findNamedSnapshot(deps: SourceDeps, key: ApiKey, text: string): Promise<Source> {
  const reference = deps.snapshots.isEnabled ? findOwnReference(key, text) : undefined;
  if (reference === undefined) throw unknownTemplate(text);
  const { name, tag } = reference;
  const named = await listNamed(deps.snapshots, key.namespace, name);
  if (named.length === 0) throw unknownTemplate(text);
  const snapshot = findTagged(named, reference);
  if (snapshot === undefined) throw notFound(`tag '${tag ?? 'default'}' does not exist for template '${name}'`);
  const source = await findTemplateByName(deps, key.namespace, snapshot.spec.templateName ?? '');
  if (source?.kind !== 'template') throw unknownTemplate(text);
  return { ...source, snapshot };
}

/** The pool or template of that name or alias, also one that the informers do not have yet. Rejects with a KubeError. */
export async function findTemplateByName(
  deps: SourceDeps,
  namespace: string,
  name: string,
): Promise<Source | undefined> {
  return findCachedSource(deps, namespace, name) ?? readSource(deps, namespace, name);
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
