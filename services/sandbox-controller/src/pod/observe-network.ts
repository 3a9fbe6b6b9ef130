import {
  findNeededPolicy,
  findPodNetworkGap,
  isPolicyInPlace,
  resolveMode,
  sandboxMessages,
  sandboxReasons,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { NeededPolicy, Sandbox } from '@sandlot/api-types';
import { networkPolicies } from '@sandlot/kube';
import type { KubeClient, NetworkPolicy, Store } from '@sandlot/kube';
import { getPriority } from '../pacing/priority.ts';
import type { Failure, Settings, Snapshot } from '../plan/snapshot.ts';
import { isCopyPending, isStartRefused } from '../start-memory/start-record.ts';
import type { RejectedWrites } from '../writes/rejected-writes.ts';

export interface NetworkDeps {
  readonly client: KubeClient;
  /** Those of Sandlot, of templates and namespaces. */
  readonly policies: Pick<Store<NetworkPolicy>, 'get'>;
  readonly rejectedWrites: RejectedWrites;
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

type Seen = Pick<Snapshot, 'ownedPods' | 'foreignPod' | 'failures'>;
type SeenMemory = Pick<Snapshot, 'hibernations'>;

/**
 * Looks for the NetworkPolicy that a new Pod needs, in the one situation in which this pass may create a Pod. Without the
 * policy it waits longer each time, as after a rejected write.
 */
export async function observeNetwork(
  deps: NetworkDeps,
  sandbox: Sandbox,
  seen: Seen & SeenMemory,
): Promise<Pick<Snapshot, 'needsNetworkLook' | 'failures'>> {
  const needed = findNeededPolicy(sandbox, deps.settings.protectsAuthored);
  if (needed === undefined) return { needsNetworkLook: false, failures: seen.failures };
  const isDue = isPodDue(sandbox, seen) && !isCopyPending(sandbox, seen.hibernations);
  if (!isDue) return { needsNetworkLook: true, failures: seen.failures };
  const gap = await findGap(deps, sandbox, needed);
  if (gap === undefined) return { needsNetworkLook: false, failures: seen.failures };
  const message = sandboxMessages.networkPolicyPending(needed.name, gap);
  const failure: Failure = { phase: 'pod', message, reason: sandboxReasons.networkPolicyPending };
  return { needsNetworkLook: true, failures: [...seen.failures, deps.rejectedWrites.record(sandbox, failure)] };
}

/** Whether this pass may create a Pod. */
export function isPodDue(sandbox: Sandbox, { ownedPods, foreignPod, failures }: Seen): boolean {
  const { metadata, spec } = sandbox;
  const isRunning = resolveMode(spec) === 'Running' && metadata.deletionTimestamp === undefined;
  const hasFailed = failures.some(({ phase }) => phase === 'pod');
  return isRunning && !hasFailed && !isStartRefused(sandbox) && ownedPods.length === 0 && foreignPod === undefined;
}

async function findGap(
  { client, policies, signal }: NetworkDeps,
  sandbox: Sandbox,
  needed: NeededPolicy,
): Promise<string | undefined> {
  const { namespace = '' } = sandbox.metadata;
  // A burst of first starts must not cost as many reads. A later start asks the API server, because much time has passed in
  // which the policy may have gone, and the watch may lag.
  const isFirst = (sandbox.status?.conditions ?? []).length === 0;
  if (isFirst && isPolicyInPlace(needed, policies.get(`${namespace}/${needed.name}`))) return undefined;
  const options = { signal, priority: getPriority(sandbox) };
  const policy = await client.find(networkPolicies, { namespace, name: needed.name }, options);
  if (isPolicyInPlace(needed, policy)) return undefined;
  const { template: name } = needed;
  const template = name === undefined ? undefined : await client.find(sandboxTemplates, { namespace, name }, options);
  return findPodNetworkGap(needed, template);
}
