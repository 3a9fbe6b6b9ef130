import { labels, sandboxSnapshots, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { findController, createInformer, networkPolicies } from '@sandlot/kube';
import type { Informer, InformerOptions, NetworkPolicy, ObjectKey } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';

/** Index of Sandboxes and SandboxSnapshots by the UID of the owner that controls them. */
export const BY_CONTROLLER = 'controllerUid';
/** Index of live claimed Sandboxes by {@link formatPoolHashKey} of the pool they came from. */
export const BY_FORMER_POOL = 'formerPool';
/** Index of strays, Sandboxes with the label of a pool's members and no controller owner, by {@link formatPoolHashKey}. */
export const BY_STRAY = 'stray';
/** Index of Sandboxes, terminating ones too, by {@link formatTemplateHashKey} of their template. */
export const BY_TEMPLATE_HASH = 'templateHash';
/** Index of pools by {@link formatPoolHashKey}. */
export const BY_HASH = 'hash';
/** Index of pools by `namespace/name` of their template. */
export const BY_TEMPLATE = 'template';

/** The objects this controller watches, each with the indexes it looks them up by. */
export interface Cache {
  readonly pools: Informer<SandboxWarmPool>;
  readonly sandboxes: Informer<Sandbox>;
  readonly templates: Informer<SandboxTemplate>;
  readonly policies: Informer<NetworkPolicy>;
  /** Among them the golden snapshots of templates; absent where nothing can save memory. */
  readonly snapshots?: Informer<SandboxSnapshot>;
}

type Shared = Omit<InformerOptions<SandboxWarmPool>, 'resource' | 'indexers' | 'transform'>;

/** How the labels of Sandboxes refer to a pool: `namespace/NameHash` of the pool's name. */
export function formatPoolHashKey({ metadata }: SandboxWarmPool): string {
  return `${metadata.namespace ?? ''}/${nameHash(metadata.name ?? '')}`;
}

/** {@link formatPoolHashKey} of the pool that a claim adopted the Sandbox from; undefined for all others. */
export function findFormerPool(sandbox: Sandbox): string | undefined {
  return hashKey(sandbox, labels.warmPool);
}

/** {@link formatPoolHashKey} of the pool whose stray the Sandbox is; undefined for all others. */
export function findStrayPool(sandbox: Sandbox): string | undefined {
  return findController(sandbox) === undefined ? hashKey(sandbox, labels.warmPoolMember) : undefined;
}

/** How the labels of Sandboxes refer to a template, whether or not it exists: `namespace/NameHash` of its name. */
export function formatTemplateHashKey({ namespace = '', name }: ObjectKey): string {
  return `${namespace}/${nameHash(name)}`;
}

function hashKey({ metadata }: Sandbox, label: string): string | undefined {
  const hash = metadata.labels?.[label];
  return hash === undefined ? undefined : `${metadata.namespace ?? ''}/${hash}`;
}

function isLive({ metadata }: Sandbox): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** `namespace/name` of the template of a pool. */
export function formatTemplateKey({ metadata, spec }: SandboxWarmPool): string {
  return `${metadata.namespace ?? ''}/${spec.sandboxTemplateRef.name}`;
}

function listValues(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

interface CacheOptions extends Shared {
  /** Whether this installation can save memory. Default: no. */
  readonly snapshotsEnabled?: boolean | undefined;
}

/** Creates the informers; the manager runs them. */
export function createCache({ snapshotsEnabled = false, ...shared }: CacheOptions): Cache {
  return {
    ...(snapshotsEnabled ? { snapshots: createSnapshotInformer(shared) } : {}),
    pools: createInformer({
      ...shared,
      resource: sandboxWarmPools,
      indexers: {
        [BY_TEMPLATE]: (pool: SandboxWarmPool) => [formatTemplateKey(pool)],
        [BY_HASH]: (pool: SandboxWarmPool) => [formatPoolHashKey(pool)],
      },
    }),
    // A consistent read: the first list of a new leader must show the members that the last leader created.
    sandboxes: createInformer({
      ...shared,
      resource: sandboxes,
      consistentFirstList: true,
      indexers: {
        [BY_CONTROLLER]: (sandbox: Sandbox) => listValues(findController(sandbox)?.uid),
        [BY_FORMER_POOL]: (sandbox: Sandbox) => listValues(isLive(sandbox) ? findFormerPool(sandbox) : undefined),
        [BY_STRAY]: (sandbox: Sandbox) => listValues(isLive(sandbox) ? findStrayPool(sandbox) : undefined),
        [BY_TEMPLATE_HASH]: (sandbox: Sandbox) => listValues(hashKey(sandbox, labels.templateRefHash)),
      },
    }),
    templates: createInformer({ ...shared, resource: sandboxTemplates }),
    policies: createInformer({ ...shared, resource: networkPolicies }),
  };
}

/** All snapshots: one of a user that has the name of a golden one must be seen too. */
function createSnapshotInformer(shared: Shared): Informer<SandboxSnapshot> {
  return createInformer({
    ...shared,
    resource: sandboxSnapshots,
    indexers: { [BY_CONTROLLER]: (snapshot: SandboxSnapshot) => listValues(findController(snapshot)?.uid) },
  });
}
