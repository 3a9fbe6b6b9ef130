import type { Sandbox } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import { hasSameSpec } from '../network/difference.ts';
import { buildAuthoredPolicy, isOwnAuthoredPolicy } from '../network/policy.ts';
import type { OwnPolicy } from '../network/policy.ts';
import type { PolicyStep } from '../plan/plan.ts';
import type { AuthoredSnapshot } from './snapshot.ts';

/** The next step towards a namespace's policy for authored Sandboxes (docs/reference/sandbox-template.md#network-policy). */
export function decideAuthored(snapshot: AuthoredSnapshot): PolicyStep {
  const { namespace, policy, network } = snapshot;
  const owners = network.protectAuthoredSandboxes ? listOwners(snapshot) : [];
  const wanted = owners.length === 0 ? undefined : buildAuthoredPolicy(namespace, owners, network);
  if (policy !== undefined && isOwnAuthoredPolicy(policy)) return decideChange(policy, wanted);
  if (wanted === undefined) return { kind: 'keep', because: 'unmanaged' };
  return policy === undefined ? { kind: 'create', wanted } : { kind: 'leave', present: policy };
}

function decideChange(present: NetworkPolicy, wanted: OwnPolicy | undefined): PolicyStep {
  if (present.metadata.deletionTimestamp !== undefined) return { kind: 'await' };
  if (wanted === undefined) return { kind: 'delete', present };
  const isApplied = hasSameSpec(present.spec ?? {}, wanted.spec) && hasSameOwners(present, wanted);
  return isApplied ? { kind: 'keep', because: 'applied' } : { kind: 'replace', present, wanted };
}

/**
 * Present owners stay owners while they exist. A terminating Sandbox becomes an owner only when no other is left: garbage
 * collection would remove the reference again, but until it is gone it needs the policy.
 */
function listOwners({ owners: { present, fresh, terminating } }: AuthoredSnapshot): readonly Sandbox[] {
  const owners = [...present, ...fresh].slice(0, MAX_OWNERS);
  return owners.length === 0 ? terminating.slice(0, 1) : owners;
}

function hasSameOwners({ metadata }: NetworkPolicy, { metadata: { ownerReferences } }: OwnPolicy): boolean {
  const wanted = new Set(ownerReferences.map(({ uid }) => uid));
  const present = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Sandbox');
  return present.length === wanted.size && present.every(({ uid }) => wanted.has(uid));
}

/** The policy is deleted with the last of its owners; more would cost a write for each of thousands of Sandboxes. */
export const MAX_OWNERS = 5;
