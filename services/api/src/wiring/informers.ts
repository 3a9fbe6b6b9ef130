import {
  annotations,
  findApiKey,
  labels,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplateBuilds,
  sandboxTemplates,
  sandboxWarmPools,
} from '@sandlot/api-types';
import type {
  Sandbox,
  SandboxClaim,
  SandboxSnapshot,
  SandboxTemplate,
  SandboxTemplateBuild,
  SandboxWarmPool,
} from '@sandlot/api-types';
import { createInformer, dropBulk } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject } from '@sandlot/kube';
import { isHiddenTemplate } from '../state/of-running-build.ts';

/** Index of any object by its namespace. */
export const BY_NAMESPACE = 'namespace';
/** Index of claims by `namespace/id` of the API key that created them. */
export const BY_KEY = 'key';
/** Index of pools and templates by `namespace/alias`. */
export const BY_ALIAS = 'alias';
/** Index of templates and builds by `namespace/id` of the template for clients of E2B. */
export const BY_TEMPLATE_ID = 'templateId';

/** Index of public templates by the name that clients gave them, and by the id that all their tags share. */
export const BY_PUBLIC_NAME = 'publicName';

/** The objects that the API watches. */
export interface Informers {
  /** Without those in which builds run. */
  readonly claims: Informer<SandboxClaim>;
  readonly sandboxes: Informer<Sandbox>;
  readonly pools: Informer<SandboxWarmPool>;
  /** Those of builds that run, and copies of public ones, are in no index. */
  readonly templates: Informer<SandboxTemplate>;
  /** Undefined: the installation builds no templates. */
  readonly builds: Informer<SandboxTemplateBuild> | undefined;
  /** Those that clients of the API asked for; undefined: the installation saves no memory. */
  readonly snapshots: Informer<SandboxSnapshot> | undefined;
}

const getNamespace = ({ metadata }: KubeObject): readonly string[] => [metadata.namespace ?? ''];

/** Other names of a pool or template. */
export function listAliases({ metadata }: KubeObject): readonly string[] {
  const text = metadata.annotations?.[annotations.aliases] ?? '';
  return text
    .split(',')
    .map((alias) => alias.trim())
    .filter((alias) => alias !== '');
}

function listAliasKeys(object: KubeObject): readonly string[] {
  return listAliases(object).map((alias) => `${object.metadata.namespace ?? ''}/${alias}`);
}

/** What the installation can do, and the API has rights to watch. */
export interface Abilities {
  readonly savesMemory: boolean;
  readonly buildsTemplates: boolean;
}

export function createInformers(
  shared: Pick<InformerOptions<KubeObject>, 'client' | 'namespaces' | 'clock' | 'random' | 'metrics' | 'log'>,
  { savesMemory, buildsTemplates }: Abilities,
): Informers {
  const byName = { [BY_NAMESPACE]: getNamespace, [BY_ALIAS]: listAliasKeys };
  return {
    claims: createInformer({
      ...shared,
      resource: sandboxClaims,
      labelSelector: `!${labels.templateBuild}`,
      indexers: { [BY_NAMESPACE]: getNamespace, [BY_KEY]: listKeyIds },
    }),
    sandboxes: createInformer({ ...shared, resource: sandboxes, transform: dropPodDetails }),
    pools: createInformer({ ...shared, resource: sandboxWarmPools, indexers: byName }),
    templates: createInformer({ ...shared, resource: sandboxTemplates, indexers: buildTemplateIndexers() }),
    builds: buildsTemplates
      ? createInformer({
          ...shared,
          resource: sandboxTemplateBuilds,
          indexers: { [BY_NAMESPACE]: getNamespace, [BY_TEMPLATE_ID]: listTemplateIds },
        })
      : undefined,
    snapshots: savesMemory ? createSnapshotInformer(shared) : undefined,
  };
}

/** Templates of builds that run, and copies of public ones, are in none of them. */
function buildTemplateIndexers() {
  const unlessHidden =
    (list: (template: KubeObject) => readonly string[]) =>
    (template: KubeObject): readonly string[] =>
      isHiddenTemplate(template) ? [] : list(template);
  return {
    [BY_NAMESPACE]: unlessHidden(getNamespace),
    [BY_ALIAS]: unlessHidden(listAliasKeys),
    [BY_TEMPLATE_ID]: unlessHidden(listTemplateIds),
    [BY_PUBLIC_NAME]: unlessHidden(listPublicNames),
  };
}

function listPublicNames({ metadata }: KubeObject): readonly string[] {
  const { [labels.public]: isPublic, [labels.templateId]: id } = metadata.labels ?? {};
  const name = metadata.annotations?.[annotations.templateName];
  return isPublic === 'true' && id !== undefined && name !== undefined ? [name, id] : [];
}

function listTemplateIds({ metadata }: KubeObject): readonly string[] {
  const id = metadata.labels?.[labels.templateId];
  return id === undefined ? [] : [`${metadata.namespace ?? ''}/${id}`];
}

function createSnapshotInformer(shared: Omit<InformerOptions<SandboxSnapshot>, 'resource'>): Informer<SandboxSnapshot> {
  const indexers = { [BY_NAMESPACE]: getNamespace };
  return createInformer({ ...shared, resource: sandboxSnapshots, labelSelector: labels.e2bSnapshot, indexers });
}

function listKeyIds(claim: SandboxClaim): readonly string[] {
  const key = findApiKey(claim);
  return key === undefined ? [] : [key];
}

/** Keeps of each pod only the runtime class and the resources of the first container: there may be many thousand Sandboxes. */
function dropPodDetails(sandbox: Sandbox): Sandbox {
  const { spec, ...rest } = dropBulk(sandbox);
  const { podTemplate, ...fields } = spec;
  const { runtimeClassName } = podTemplate.spec;
  const [first] = podTemplate.spec.containers;
  const containers = first === undefined ? [] : [{ name: first.name, resources: first.resources }];
  return { ...rest, spec: { ...fields, podTemplate: { spec: { containers, runtimeClassName } } } };
}
