import { sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { KubeClient, Store } from '@sandlot/kube';
import { isServed } from '@sandlot/service';
import type { ServedNamespaces } from '@sandlot/service';
import type { Clock, Logger } from '@sandlot/std';
import type { AgentClient } from '../agent/agent-client.ts';
import type { Manifest } from '../agent/messages.ts';
import { BY_UID } from '../wiring/informers.ts';

export interface OrphanDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly known: Store<SandboxSnapshot>;
  readonly namespaces: ServedNamespaces;
}

/** Younger data may be of a save whose object the cache does not show yet. */
const MIN_AGE_MS = 600_000;

/**
 * Erases what a node keeps of SandboxSnapshots that do not exist: a finalizer was removed by hand, or a node came back that
 * had been taken out of the cluster. It is the memory of tenants, which no object would ever remove.
 */
export async function eraseOrphans(deps: OrphanDeps, agent: AgentClient, signal: AbortSignal): Promise<void> {
  const stored = await agent.list(signal);
  for (const one of stored.filter((each) => mayBeOrphan(deps, each))) {
    if (await exists(deps, one, signal)) continue;
    const staysPaused = await isPodGone(deps, one, signal);
    await agent.erase({ namespace: one.namespace, uid: one.snapshotUid }, staysPaused, signal);
    const { namespace, snapshotUid, source } = one;
    deps.log.info(
      { namespace, uid: snapshotUid, sandboxUid: source.sandboxUid },
      'erased a snapshot without an object',
    );
  }
}

/**
 * A node that comes back after it was taken out of the cluster may have the Pod of a Sandbox that has gone on elsewhere: it must
 * not go on beside that one until the kubelet ends it.
 */
async function isPodGone(
  { client }: OrphanDeps,
  { namespace, source }: Manifest,
  signal: AbortSignal,
): Promise<boolean> {
  if (source.podName === undefined) return false;
  const pod = await client.find(pods, { namespace, name: source.podName }, { signal });
  return pod?.metadata.uid !== source.podUid;
}

function mayBeOrphan({ clock, known, namespaces }: OrphanDeps, { snapshotUid, ...stored }: Manifest): boolean {
  if (!isServed(namespaces, stored.namespace)) return false;
  const isKnown = [...known.listByIndex(BY_UID, snapshotUid)].length > 0;
  return !isKnown && clock.now() - Date.parse(stored.savedAt) >= MIN_AGE_MS;
}

/** Asks the API server: a cache that lags must not cost anyone their memory. */
async function exists(
  { client }: OrphanDeps,
  { namespace, snapshotUid }: Manifest,
  signal: AbortSignal,
): Promise<boolean> {
  const { items } = await client.listAll(sandboxSnapshots, { namespace, signal });
  return items.some(({ metadata }) => metadata.uid === snapshotUid);
}
