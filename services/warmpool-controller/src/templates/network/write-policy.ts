import { annotations as keys } from '@sandlot/api-types';
import { networkPolicies } from '@sandlot/kube';
import type { JsonObject, KubeClient, NetworkPolicy, OwnerReference } from '@sandlot/kube';
import type { PolicyMetrics } from '../../telemetry/policy-metrics.ts';
import type { PolicyStep } from '../plan/plan.ts';
import { buildSpecPatch } from './difference.ts';
import type { OwnPolicy } from './policy.ts';

export interface PolicyWriter {
  readonly client: KubeClient;
  readonly metrics: PolicyMetrics;
  readonly signal: AbortSignal;
}

/**
 * Writes what the step asks for; the other steps write nothing. Rejects with AlreadyExists when a policy of that name
 * exists, with Conflict or NotFound when it changed meanwhile, and with Invalid when the API server refuses the rules.
 */
export async function writePolicy(writer: PolicyWriter, step: PolicyStep): Promise<void> {
  if (step.kind === 'create') await createPolicy(writer, step.wanted);
  if (step.kind === 'replace' || step.kind === 'mark') await changePolicy(writer, step);
  if (step.kind === 'delete') await deletePolicy(writer, step.present);
}

async function createPolicy({ client, metrics, signal }: PolicyWriter, wanted: OwnPolicy): Promise<void> {
  await client.create<NetworkPolicy>(networkPolicies, wanted, { signal });
  metrics.count('create');
}

/** Replaces the rules, our marks and our owner references; labels, annotations and owners of others stay. */
async function changePolicy(
  { client, metrics, signal }: PolicyWriter,
  { kind, present, wanted }: PolicyStep & { readonly kind: 'replace' | 'mark' },
): Promise<void> {
  const { namespace, name, ownerReferences, labels, annotations = {} } = wanted.metadata;
  const { uid, resourceVersion } = present.metadata;
  const owners = replaceOwners(present, ownerReferences);
  const metadata = {
    uid,
    resourceVersion,
    labels,
    annotations: { [keys.egress]: null, ...annotations },
    ownerReferences: owners,
  };
  const spec = kind === 'mark' ? {} : { spec: buildSpecPatch(present.spec, wanted.spec) };
  await client.mergePatch(networkPolicies, { namespace, name }, { metadata, ...spec }, { signal });
  metrics.count('update');
}

/** Owners of our kinds become `wanted`; others stay. */
function replaceOwners({ metadata }: NetworkPolicy, wanted: readonly OwnerReference[]): JsonObject[] {
  const kinds = new Set(['Sandbox', 'SandboxTemplate']);
  const others = (metadata.ownerReferences ?? []).filter(({ kind }) => !kinds.has(kind));
  return [...others, ...wanted].map((reference) => ({ ...reference }));
}

async function deletePolicy({ client, metrics, signal }: PolicyWriter, present: NetworkPolicy): Promise<void> {
  const { namespace, name = '', uid, resourceVersion } = present.metadata;
  await client.delete(networkPolicies, { namespace, name }, { uid, resourceVersion, signal });
  metrics.count('delete');
}
