import {
  annotations,
  findApiKey,
  labels,
  sandboxClaims,
  sandboxes,
  sandboxSnapshots,
  sandboxTemplates,
  sandboxWarmPools,
} from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxSnapshot, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { createInformer, dropBulk } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject } from '@sandlot/kube';

/** Index of any object by its namespace. */
export const BY_NAMESPACE = 'namespace';
/** Index of claims by `namespace/id` of the API key that created them. */
export const BY_KEY = 'key';
/** Index of pools and templates by `namespace/alias`. */
export const BY_ALIAS = 'alias';

/** The objects that the API watches. */
export interface Informers {
  readonly claims: Informer<SandboxClaim>;
  readonly sandboxes: Informer<Sandbox>;
  readonly pools: Informer<SandboxWarmPool>;
  readonly templates: Informer<SandboxTemplate>;
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

export function createInformers(
  shared: Pick<InformerOptions<KubeObject>, 'client' | 'namespaces' | 'clock' | 'random' | 'metrics' | 'log'>,
  savesMemory: boolean,
): Informers {
  const byName = { [BY_NAMESPACE]: getNamespace, [BY_ALIAS]: listAliasKeys };
  return {
    claims: createInformer({
      ...shared,
      resource: sandboxClaims,
      indexers: { [BY_NAMESPACE]: getNamespace, [BY_KEY]: listKeyIds },
    }),
    sandboxes: createInformer({ ...shared, resource: sandboxes, transform: dropPodDetails }),
    pools: createInformer({ ...shared, resource: sandboxWarmPools, indexers: byName }),
    templates: createInformer({ ...shared, resource: sandboxTemplates, indexers: byName }),
    snapshots: savesMemory ? createSnapshotInformer(shared) : undefined,
  };
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
