import { networkPolicies } from '@sandlot/kube';
import type { JsonObject, KubeClient, NetworkPolicy, OwnerReference } from '@sandlot/kube';
import { specPatch } from './difference.ts';
import type { PolicyMetrics } from './metrics.ts';
import type { OwnPolicy } from './policy.ts';

export interface PolicyWriter {
  readonly client: KubeClient;
  readonly metrics: PolicyMetrics;
  readonly signal: AbortSignal;
}

/** Rejects with AlreadyExists when any policy has the name, and with Invalid when the rules are refused. */
export async function createPolicy({ client, metrics, signal }: PolicyWriter, wanted: OwnPolicy): Promise<void> {
  await client.create<NetworkPolicy>(networkPolicies, wanted, { signal });
  metrics.count('create');
}

/** Makes the rules and our owner references what is wanted. Rejects with Conflict when it changed meanwhile. */
export async function replacePolicy(
  { client, metrics, signal }: PolicyWriter,
  present: NetworkPolicy,
  wanted: OwnPolicy,
): Promise<void> {
  const { namespace, name, ownerReferences } = wanted.metadata;
  const { uid, resourceVersion } = present.metadata;
  const metadata = { uid, resourceVersion, ownerReferences: withOwners(present, ownerReferences) };
  const patch: JsonObject = { metadata, spec: specPatch(present.spec, wanted.spec) };
  await client.mergePatch(networkPolicies, { namespace, name }, patch, { signal });
  metrics.count('update');
}

/** Owners of our kinds become `wanted`; others stay. */
function withOwners({ metadata }: NetworkPolicy, wanted: readonly OwnerReference[]): JsonObject[] {
  const kinds = new Set(['Sandbox', 'SandboxTemplate']);
  const others = (metadata.ownerReferences ?? []).filter(({ kind }) => !kinds.has(kind));
  return [...others, ...wanted].map((reference) => ({ ...reference }));
}

/** Rejects with Conflict when it changed meanwhile. */
export async function deletePolicy({ client, metrics, signal }: PolicyWriter, present: NetworkPolicy): Promise<void> {
  const { namespace, name = '', uid, resourceVersion } = present.metadata;
  await client.delete(networkPolicies, { namespace, name }, { uid, resourceVersion, signal });
  metrics.count('delete');
}
