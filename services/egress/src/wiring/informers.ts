import { annotations, labels, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { createInformer, findController, networkPolicies, pods } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, NetworkPolicy, ObjectMeta, Pod, Store } from '@sandlot/kube';

/** Index of Pods by address. */
export const BY_ADDRESS = 'byAddress';
/** Index of Pods and Sandboxes by the UID of the object that controls them. */
export const BY_OWNER = 'byOwner';
/** Index of objects by their UID. */
export const BY_UID = 'byUid';
/** Index of Sandboxes by namespace and template. */
export const BY_TEMPLATE = 'byTemplate';

export interface Informers {
  readonly pods: Informer<Pod>;
  readonly sandboxes: Informer<Sandbox>;
  readonly claims: Informer<SandboxClaim>;
  readonly policies: Informer<NetworkPolicy>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespaces' | 'clock' | 'random' | 'metrics' | 'log'>;

/** Creates the informers. They keep only the fields that decide over an address. */
export function createInformers(shared: Shared): Informers {
  const byOwner = (object: KubeObject): readonly string[] => [findController(object)?.uid ?? []].flat();
  const byUid = ({ metadata: { uid } }: KubeObject): readonly string[] => [uid ?? []].flat();
  return {
    pods: createInformer({
      ...shared,
      resource: pods,
      // Every Pod of a Sandbox has it, and no other Pod.
      labelSelector: labels.nameHash,
      indexers: { [BY_ADDRESS]: listAddresses, [BY_OWNER]: byOwner },
      transform: reducePod,
    }),
    sandboxes: createInformer({
      ...shared,
      resource: sandboxes,
      indexers: { [BY_UID]: byUid, [BY_OWNER]: byOwner, [BY_TEMPLATE]: listTemplates },
      transform: ({ metadata }) => ({ metadata: reduceMetadata(metadata), spec: NO_TEMPLATE }),
    }),
    claims: createInformer({
      ...shared,
      resource: sandboxClaims,
      indexers: { [BY_UID]: byUid },
      transform: ({ metadata, spec }) => ({ metadata: reduceMetadata(metadata), spec: reduceClaimSpec(spec) }),
    }),
    policies: createInformer({
      ...shared,
      resource: networkPolicies,
      transform: ({ metadata, spec }) => ({ metadata: reduceMetadata(metadata), spec: { ...spec, ingress: [] } }),
    }),
  };
}

const NO_TEMPLATE = { podTemplate: { spec: { containers: [] } } };

/** The claim with that UID. */
export function findClaim(claims: Store<SandboxClaim>, uid: string): SandboxClaim | undefined {
  const [claim] = claims.listByIndex(BY_UID, uid);
  return claim;
}

/** The addresses of a Pod, of either family. */
export function listAddresses({ status }: Pod): readonly string[] {
  return (status?.podIPs ?? []).map(({ ip }) => ip);
}

/** `NAMESPACE/TEMPLATE` of a Sandbox; empty if it has none. */
function listTemplates({ metadata }: Sandbox): readonly string[] {
  const template = metadata.annotations?.[annotations.templateRef];
  return template === undefined ? [] : [`${metadata.namespace ?? ''}/${template}`];
}

/** What says whether the claim is bound to one Sandbox. */
function reduceClaimSpec({ replicas, ttlSecondsAfterCompleted }: SandboxClaim['spec']): SandboxClaim['spec'] {
  return { replicas, ttlSecondsAfterCompleted };
}

function reducePod({ metadata, status }: Pod): Pod {
  return {
    metadata: reduceMetadata(metadata),
    spec: { containers: [] },
    status: { phase: status?.phase, podIPs: status?.podIPs },
  };
}

/** The annotations that decide: of a claim, a Sandbox and the NetworkPolicy of a template. */
const KEPT: ReadonlySet<string> = new Set([annotations.network, annotations.templateRef, annotations.egress]);

function reduceMetadata(metadata: ObjectMeta): ObjectMeta {
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => KEPT.has(key));
  return { ...metadata, managedFields: undefined, labels: {}, annotations: Object.fromEntries(kept) };
}
