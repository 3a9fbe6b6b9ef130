import { labels, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { controllerOf, createInformer } from '@sandlot/kube';
import type { Informer, InformerOptions } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';

/** Index of Sandboxes by the UID of the owner that controls them. */
export const BY_CONTROLLER = 'controllerUid';
/** Index of Sandboxes by `namespace/NameHash` of the pool that claims took them from. */
export const BY_FORMER_POOL = 'formerPool';
/** Index of pools by `namespace/name` of their template. */
export const BY_TEMPLATE = 'template';
/** Index of pools by `namespace/NameHash` of their own name. */
export const BY_NAME_HASH = 'nameHash';

/** The objects this controller watches, each with the indexes it looks them up by. */
export interface Cache {
  readonly pools: Informer<SandboxWarmPool>;
  readonly sandboxes: Informer<Sandbox>;
  readonly templates: Informer<SandboxTemplate>;
}

type Shared = Omit<InformerOptions<SandboxWarmPool>, 'resource' | 'indexers' | 'transform'>;

/** `namespace/NameHash` of the pool a claimed Sandbox came from; undefined for all others. */
export function formerPoolOf({ metadata }: Sandbox): string | undefined {
  const hash = metadata.labels?.[labels.warmPool];
  return hash === undefined ? undefined : `${metadata.namespace ?? ''}/${hash}`;
}

/** `namespace/name` of the template of a pool. */
export function templateKeyOf({ metadata, spec }: SandboxWarmPool): string {
  return `${metadata.namespace ?? ''}/${spec.sandboxTemplateRef.name}`;
}

function values(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

export function createCache(shared: Shared): Cache {
  return {
    pools: createInformer({
      ...shared,
      resource: sandboxWarmPools,
      indexers: {
        [BY_TEMPLATE]: (pool: SandboxWarmPool) => [templateKeyOf(pool)],
        [BY_NAME_HASH]: ({ metadata }: SandboxWarmPool) => [
          `${metadata.namespace ?? ''}/${nameHash(metadata.name ?? '')}`,
        ],
      },
    }),
    sandboxes: createInformer({
      ...shared,
      resource: sandboxes,
      indexers: {
        [BY_CONTROLLER]: (sandbox: Sandbox) => values(controllerOf(sandbox)?.uid),
        [BY_FORMER_POOL]: (sandbox: Sandbox) => values(formerPoolOf(sandbox)),
      },
    }),
    templates: createInformer({ ...shared, resource: sandboxTemplates }),
  };
}
