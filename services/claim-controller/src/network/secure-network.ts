import { annotations, sandboxClaims } from '@sandlot/api-types';
import {
  findController,
  done,
  isAlreadyExists,
  isConflict,
  isNotFound,
  networkPolicies,
  RetryableError,
} from '@sandlot/kube';
import type { JsonObject, NetworkPolicy, ReconcileResult } from '@sandlot/kube';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Step } from '../plan/plan.ts';
import type { WantedPolicy } from './snapshot-network.ts';

type Writer = Pick<ApplyDeps, 'client'>;

/** Writes the policies of a claim with rules of its own, in order. Rejects on the first that it cannot write. */
export async function secureNetwork(
  deps: Writer,
  { claim, signal }: Pass,
  { policies }: Step & { kind: 'secureNetwork' },
): Promise<ReconcileResult> {
  for (const policy of policies) await write(deps, { policy, claimUid: claim.metadata.uid ?? '', signal });
  return done;
}

interface Write {
  readonly policy: WantedPolicy;
  readonly claimUid: string;
  readonly signal: AbortSignal;
}

async function write({ client }: Writer, { policy, claimUid, signal }: Write): Promise<void> {
  const { namespace, name, ownerReferences } = policy.metadata;
  try {
    await client.create<NetworkPolicy>(networkPolicies, policy, { signal, priority: 'claim' });
    return;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const present = await client.get(networkPolicies, { namespace, name }, { signal, priority: 'claim' });
  const owner = findController(present)?.uid;
  const isOurs = ownerReferences[0]?.controller === true ? owner === claimUid : owner === undefined;
  if (!isOurs) throw new RetryableError(`NetworkPolicy ${namespace}/${name} is not ours: delete it`);
  const { uid, resourceVersion } = present.metadata;
  const metadata = { uid, resourceVersion, ...buildMarks(present, policy) };
  const patch = { metadata, spec: buildSpecPatch(present, policy) };
  await client.mergePatch(networkPolicies, { namespace, name }, patch, { signal, priority: 'claim' });
}

/** The labels of a baseline, which no longer has its template as an owner; other owners stay. */
function buildMarks({ metadata: present }: NetworkPolicy, { metadata: { labels } }: WantedPolicy): JsonObject {
  if (labels === undefined) return {};
  const others = (present.ownerReferences ?? []).filter(({ kind }) => kind !== 'SandboxTemplate');
  return { labels, ownerReferences: others.map((owner) => ({ ...owner })) };
}

/** A merge patch replaces lists whole, an empty one as null. Foreign keys of the selector go. */
function buildSpecPatch({ spec }: NetworkPolicy, { spec: wanted }: WantedPolicy): JsonObject {
  const present = spec?.podSelector?.matchLabels ?? {};
  const cleared = Object.fromEntries(Object.keys(present).map((key) => [key, null]));
  return {
    podSelector: { matchLabels: { ...cleared, ...wanted.podSelector?.matchLabels }, matchExpressions: null },
    policyTypes: wanted.policyTypes ?? null,
    ingress: (wanted.ingress ?? null) as JsonObject[] | null,
    egress: (wanted.egress ?? null) as JsonObject[] | null,
  };
}

/** Notes on the claim which rules are in force. A claim that asks for other rules by then gets another pass. */
export async function noteNetwork(
  { client }: Writer,
  { claim, signal }: Pass,
  { applied }: Step & { kind: 'noteNetwork' },
): Promise<ReconcileResult> {
  const { namespace, name = '', uid } = claim.metadata;
  const metadata = { uid, annotations: { [annotations.networkApplied]: applied } };
  try {
    await client.mergePatch(sandboxClaims, { namespace, name }, { metadata }, { signal, priority: 'claim' });
  } catch (error) {
    // Another claim has the name, or the API server gave up on competing writes: the next pass sees which.
    if (isConflict(error)) throw new RetryableError(`the note on claim ${namespace}/${name} met a conflict`);
    if (!isNotFound(error)) throw error;
  }
  return done;
}
