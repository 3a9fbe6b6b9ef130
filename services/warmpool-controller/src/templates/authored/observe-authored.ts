import { AUTHORED_POLICY_NAME } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { NetworkPolicy, Store } from '@sandlot/kube';
import type { NetworkSettings } from '../network/settings.ts';
import type { AuthoredSandboxes } from './authored-sandboxes.ts';
import { MAX_OWNERS } from './decide-authored.ts';
import type { AuthoredSnapshot, OwnerCandidates } from './snapshot.ts';

export interface ObserveAuthoredDeps {
  /** Undefined when the installation does not protect authored Sandboxes. */
  readonly authored: AuthoredSandboxes | undefined;
  readonly policies: Store<NetworkPolicy>;
  readonly network: NetworkSettings;
}

/** The state of a namespace at one moment, from caches alone: no request. */
export function observeAuthored(
  { authored, policies, network }: ObserveAuthoredDeps,
  namespace: string,
): AuthoredSnapshot {
  const policy = policies.get(`${namespace}/${AUTHORED_POLICY_NAME}`);
  const owners = observeOwners(policy, authored?.in(namespace) ?? []);
  return { namespace, owners, policy, network };
}

/** Stops once it has found enough: a namespace may have thousands of Sandboxes. */
function observeOwners(policy: NetworkPolicy | undefined, sandboxes: Iterable<Sandbox>): OwnerCandidates {
  const references = (policy?.metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Sandbox');
  const uids = new Set(references.map(({ uid }) => uid));
  const [present, fresh, terminating]: [Sandbox[], Sandbox[], Sandbox[]] = [[], [], []];
  for (const sandbox of sandboxes) {
    if (present.length === Math.min(uids.size, MAX_OWNERS) && present.length + fresh.length >= MAX_OWNERS) break;
    const { uid = '', deletionTimestamp } = sandbox.metadata;
    if (uids.has(uid)) present.push(sandbox);
    else if (deletionTimestamp === undefined) fresh.push(sandbox);
    else terminating.push(sandbox);
  }
  return { present, fresh, terminating };
}
