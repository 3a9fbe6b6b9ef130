import { findApiKey, labels, sandboxClaims, sandboxTemplates, sandboxWarmPools, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { findSlot } from '@sandlot/blueprint';
import { findController, createInformer, networkPolicies } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, NetworkPolicy, Resource } from '@sandlot/kube';

/** Index of objects by the UID of the owner that controls them. */
export const BY_CONTROLLER = 'controllerUid';
/** Index of Sandboxes in slots of detached claims by the claim's UID. */
export const BY_CLAIM = 'claimUid';
/** Index of claims by `namespace/id` of the API key that made them. */
export const BY_API_KEY = 'apiKey';
/** Index of pools and claims by `namespace/name` of the template they name. */
export const BY_TEMPLATE = 'template';
/** Index of claims by `namespace/name` of the pool they name. */
export const BY_POOL = 'pool';
/** Index of claims by `namespace/name` of the Sandbox in their `sandboxName`. */
export const BY_SANDBOX_NAME = 'sandboxName';

/** The objects this controller watches, each with the indexes it looks them up by. */
export interface Cache {
  readonly claims: Informer<SandboxClaim>;
  readonly sandboxes: Informer<Sandbox>;
  readonly pools: Informer<SandboxWarmPool>;
  readonly templates: Informer<SandboxTemplate>;
  /** Policies of templates, and of claims with egress rules of their own. */
  readonly policies: Informer<NetworkPolicy>;
}

type Shared = Omit<InformerOptions<KubeObject>, 'resource' | 'indexers' | 'transform'>;

/** `namespace/name` of an object that `object` names in its own namespace. */
export function formatRefKey(object: KubeObject, name: string): string {
  return `${object.metadata.namespace ?? ''}/${name}`;
}

function indexByReference<T extends KubeObject>(
  name: (object: T) => string | undefined,
): (object: T) => readonly string[] {
  return (object) => {
    const value = name(object);
    return value === undefined ? [] : [formatRefKey(object, value)];
  };
}

/** The first list is a consistent read: to a new leader no adopted Sandbox may look free (docs/reference/sandbox-claim.md#adoption). */
export function createCache(shared: Shared): Cache {
  const informer = <T extends KubeObject>(
    resource: Resource<T>,
    indexers: InformerOptions<T>['indexers'],
  ): Informer<T> => createInformer<T>({ ...shared, resource, indexers, consistentFirstList: true });
  return {
    claims: informer(sandboxClaims, {
      [BY_TEMPLATE]: indexByReference((claim) => claim.spec.sandboxTemplateRef?.name),
      [BY_POOL]: indexByReference((claim) => claim.spec.warmPoolRef?.name),
      [BY_SANDBOX_NAME]: indexByReference((claim) => claim.spec.sandboxName),
      [BY_API_KEY]: (claim) => {
        const key = findApiKey(claim);
        return key === undefined ? [] : [key];
      },
    }),
    sandboxes: informer(sandboxes, {
      [BY_CONTROLLER]: (sandbox) => {
        const owner = findController(sandbox)?.uid;
        return owner === undefined ? [] : [owner];
      },
      [BY_CLAIM]: (sandbox) => {
        const claimUid = findSlot(sandbox) === undefined ? undefined : sandbox.metadata.labels?.[labels.claimUid];
        return claimUid === undefined ? [] : [claimUid];
      },
    }),
    pools: informer(sandboxWarmPools, { [BY_TEMPLATE]: indexByReference((pool) => pool.spec.sandboxTemplateRef.name) }),
    templates: informer(sandboxTemplates, {}),
    policies: informer(networkPolicies, {}),
  };
}
