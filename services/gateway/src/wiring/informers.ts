import { annotations, labels, sandboxClaims, sandboxes, findSandboxId } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { Informer, InformerOptions, KubeObject, ObjectMeta } from '@sandlot/kube';

/** Index of claims by sandbox id. */
export const BY_ID = 'byId';
/** Index of claims by UID. */
export const BY_UID = 'byUid';

export interface Informers {
  readonly claims: Informer<SandboxClaim>;
  readonly sandboxes: Informer<Sandbox>;
}

type Shared = Pick<InformerOptions<KubeObject>, 'client' | 'namespaces' | 'clock' | 'random' | 'metrics' | 'log'>;

/** Creates the informers of claims and Sandboxes. They keep only the fields that the gateway reads. */
export function createInformers(shared: Shared): Informers {
  return {
    claims: createInformer({
      ...shared,
      resource: sandboxClaims,
      indexers: {
        [BY_ID]: (claim) => [findSandboxId(claim) ?? []].flat(),
        [BY_UID]: ({ metadata: { uid } }) => [uid ?? []].flat(),
      },
      transform: reduceClaim,
    }),
    sandboxes: createInformer({ ...shared, resource: sandboxes, transform: reduceSandbox }),
  };
}

/** Keeps the fields of a claim that the gateway reads. */
export function reduceClaim({ metadata, status }: SandboxClaim): SandboxClaim {
  return {
    metadata: reduceMetadata(metadata),
    spec: {},
    ...(status === undefined ? {} : { status: { conditions: status.conditions, sandbox: status.sandbox } }),
  };
}

/** Keeps the fields of a Sandbox that the gateway reads; its pod template is left empty. */
export function reduceSandbox({ metadata, spec, status }: Sandbox): Sandbox {
  const { operatingMode, replicas, autoResume, idle, runtime } = spec;
  const { conditions, podIPs, phase, resumedAt, runtime: daemon } = status ?? {};
  return {
    metadata: { ...reduceMetadata(metadata), generation: metadata.generation },
    spec: { podTemplate: { spec: { containers: [] } }, operatingMode, replicas, autoResume, idle, runtime },
    status: {
      conditions,
      podIPs,
      phase,
      resumedAt,
      ...(daemon?.identity === undefined ? {} : { runtime: { identity: daemon.identity } }),
    },
  };
}

const LABELS = [labels.sandboxId, labels.warmPoolMember, labels.reservedFailed];
const ANNOTATIONS = [
  annotations.suspendedBy,
  annotations.autoResume,
  annotations.apiKeyId,
  annotations.trafficTokenHash,
  annotations.previewKey,
];

function reduceMetadata({ namespace, name, uid, resourceVersion, ...rest }: ObjectMeta): ObjectMeta {
  const { creationTimestamp, deletionTimestamp, ownerReferences } = rest;
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    labels: pick(rest.labels, LABELS),
    annotations: pick(rest.annotations, ANNOTATIONS),
  };
}

function pick(from: Readonly<Record<string, string>> = {}, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])));
}
