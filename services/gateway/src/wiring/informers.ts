import { annotations, labels, sandboxClaims, sandboxes, sandboxIdOf } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, ObjectMeta } from '@sandlot/kube';

/** Index of claims by the id that the API gave them. */
export const BY_ID = 'byId';
/** Index of claims by UID. */
export const BY_UID = 'byUid';

export interface Informers {
  readonly claims: Informer<SandboxClaim>;
  readonly sandboxes: Informer<Sandbox>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespace' | 'clock' | 'random' | 'metrics' | 'log'>;

/** Follows claims and Sandboxes, of which only what routing reads is kept. */
export function createInformers(shared: Shared): Informers {
  return {
    claims: createInformer({
      ...shared,
      resource: sandboxClaims,
      indexers: {
        [BY_ID]: (claim) => [sandboxIdOf(claim) ?? []].flat(),
        [BY_UID]: ({ metadata: { uid } }) => [uid ?? []].flat(),
      },
      transform: reducedClaim,
    }),
    sandboxes: createInformer({ ...shared, resource: sandboxes, transform: reducedSandbox }),
  };
}

/** A claim as routing sees it. */
export function reducedClaim({ metadata, status }: SandboxClaim): SandboxClaim {
  return {
    metadata: reduced(metadata),
    spec: {},
    ...(status === undefined ? {} : { status: { conditions: status.conditions, sandbox: status.sandbox } }),
  };
}

/** A Sandbox as routing sees it. No pod is ever made from it. */
export function reducedSandbox({ metadata, spec, status }: Sandbox): Sandbox {
  const { operatingMode, replicas, autoResume, idle, runtime } = spec;
  const { conditions, podIPs, phase, resumedAt } = status ?? {};
  return {
    metadata: reduced(metadata),
    spec: { podTemplate: { spec: { containers: [] } }, operatingMode, replicas, autoResume, idle, runtime },
    status: { conditions, podIPs, phase, resumedAt },
  };
}

const LABELS = [labels.sandboxId, labels.warmPoolMember, labels.reservedFailed];
const ANNOTATIONS = [
  annotations.suspendedBy,
  annotations.autoResume,
  annotations.apiKeyId,
  annotations.trafficTokenHash,
];

function reduced({ namespace, name, uid, resourceVersion, ...rest }: ObjectMeta): ObjectMeta {
  const { creationTimestamp, deletionTimestamp, ownerReferences } = rest;
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    labels: picked(rest.labels, LABELS),
    annotations: picked(rest.annotations, ANNOTATIONS),
  };
}

function picked(from: Readonly<Record<string, string>> = {}, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])));
}
