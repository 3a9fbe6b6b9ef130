import { labels, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { controllerOf, createInformer } from '@sandlot/kube';
import type { Informer, InformerOptions } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';

/** Index of Sandboxes by the UID of the owner that controls them. */
export const BY_CONTROLLER = 'controllerUid';
/** Index of claimed Sandboxes, and of pools, by {@link formerPoolKey}. */
export const BY_FORMER_POOL = 'formerPool';
/** Index of pools by `namespace/name` of their template. */
export const BY_TEMPLATE = 'template';

/** The objects this controller watches, each with the indexes it looks them up by. */
export interface Cache {
  readonly pools: Informer<SandboxWarmPool>;
  readonly sandboxes: Informer<Sandbox>;
  readonly templates: Informer<SandboxTemplate>;
}

type Shared = Omit<InformerOptions<SandboxWarmPool>, 'resource' | 'indexers' | 'transform'>;

/** What a Sandbox remembers of the pool it was adopted from: `namespace/NameHash` of the pool's name. */
export function formerPoolKey({ metadata }: SandboxWarmPool): string {
  return `${metadata.namespace ?? ''}/${nameHash(metadata.name ?? '')}`;
}

/** {@link formerPoolKey} of the pool a claimed Sandbox came from; undefined for all others. */
export function formerPoolOf({ metadata }: Sandbox): string | undefined {
  const hash = metadata.labels?.[labels.warmPool];
  return hash === undefined ? undefined : `${metadata.namespace ?? ''}/${hash}`;
}

/** `namespace/name` of the template of a pool. */
export function templateKeyOf({ metadata, spec }: SandboxWarmPool): string {
  return `${metadata.namespace ?? ''}/${spec.sandboxTemplateRef.name}`;
}

function valuesOf(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

/** Creates the informers; a manager runs them. */
export function createCache(shared: Shared): Cache {
  return {
    pools: createInformer({
      ...shared,
      resource: sandboxWarmPools,
      indexers: {
        [BY_TEMPLATE]: (pool: SandboxWarmPool) => [templateKeyOf(pool)],
        [BY_FORMER_POOL]: (pool: SandboxWarmPool) => [formerPoolKey(pool)],
      },
    }),
    // Under a lease the first list must be younger than the term: members made by the last leader count too.
    sandboxes: createInformer({
      ...shared,
      resource: sandboxes,
      consistentFirstList: true,
      indexers: {
        [BY_CONTROLLER]: (sandbox: Sandbox) => valuesOf(controllerOf(sandbox)?.uid),
        [BY_FORMER_POOL]: (sandbox: Sandbox) => valuesOf(formerPoolOf(sandbox)),
      },
    }),
    templates: createInformer({ ...shared, resource: sandboxTemplates }),
  };
}
