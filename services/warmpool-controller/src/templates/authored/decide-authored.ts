import type { Sandbox } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import { sameSpec } from '../network/difference.ts';
import type { PolicyStep } from '../decide.ts';
import { authoredPolicy, isOwnAuthoredPolicy } from '../network/policy.ts';
import type { OwnPolicy } from '../network/policy.ts';
import type { NetworkSettings } from '../network/settings.ts';

export interface AuthoredSnapshot {
  readonly namespace: string;
  /** Directly authored Sandboxes of the namespace; looked at no further than needed. */
  readonly sandboxes: Iterable<Sandbox>;
  /** What bears the name of our policy, whoever made it. */
  readonly policy: NetworkPolicy | undefined;
  readonly network: NetworkSettings;
}

/** Owners a policy has at most: it goes with the last, and one more or less of thousands must not cost a write. */
const MAX_OWNERS = 5;

/** The next step towards the policy a namespace has for directly authored Sandboxes (API contract, network policy). */
export function decideAuthored(snapshot: AuthoredSnapshot): PolicyStep {
  const { namespace, sandboxes, policy, network } = snapshot;
  const owners = network.protectAuthoredSandboxes ? ownersOf(policy, sandboxes) : [];
  const wanted = owners.length === 0 ? undefined : authoredPolicy(namespace, owners, network);
  if (policy !== undefined && isOwnAuthoredPolicy(policy)) return changed(policy, wanted);
  if (wanted === undefined) return { kind: 'keep', because: 'unmanaged' };
  return policy === undefined ? { kind: 'create', wanted } : { kind: 'leave', present: policy };
}

function changed(present: NetworkPolicy, wanted: OwnPolicy | undefined): PolicyStep {
  if (present.metadata.deletionTimestamp !== undefined) return { kind: 'await' };
  if (wanted === undefined) return { kind: 'delete', present };
  const same = sameSpec(present.spec ?? {}, wanted.spec) && sameOwners(present, wanted);
  return same ? { kind: 'keep', because: 'applied' } : { kind: 'replace', present, wanted };
}

/**
 * The owners it has as long as they are there, then others. One that is being deleted is no new owner, because garbage
 * collection takes such references away again, unless nobody else is left to be protected.
 */
function ownersOf(policy: NetworkPolicy | undefined, sandboxes: Iterable<Sandbox>): Sandbox[] {
  const references = (policy?.metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Sandbox');
  const present = new Set(references.map(({ uid }) => uid));
  const [kept, fresh, leaving]: [Sandbox[], Sandbox[], Sandbox[]] = [[], [], []];
  for (const sandbox of sandboxes) {
    if (kept.length === Math.min(present.size, MAX_OWNERS) && kept.length + fresh.length >= MAX_OWNERS) break;
    const { uid = '', deletionTimestamp } = sandbox.metadata;
    if (present.has(uid)) kept.push(sandbox);
    else if (deletionTimestamp === undefined) fresh.push(sandbox);
    else leaving.push(sandbox);
  }
  const owners = [...kept, ...fresh].slice(0, MAX_OWNERS);
  return owners.length === 0 ? leaving.slice(0, 1) : owners;
}

function sameOwners({ metadata }: NetworkPolicy, { metadata: { ownerReferences } }: OwnPolicy): boolean {
  const wanted = new Set(ownerReferences.map(({ uid }) => uid));
  const present = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Sandbox');
  return present.length === wanted.size && present.every(({ uid }) => wanted.has(uid));
}
