import { isHibernationOf, isRestorable, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';

export type Kept = 'Memory' | 'Files' | 'Volumes';

/** The SandboxSnapshots of a cluster, as a watch shows them. */
export interface Snapshots {
  listAll(): readonly SandboxSnapshot[];
  /** The hibernations of the Sandbox that are left and not being deleted. */
  listOf(sandbox: Sandbox): readonly SandboxSnapshot[];
}

/** Watches until the signal aborts. Resolves once the first list is there. */
export async function watchSnapshots(
  client: KubeClient,
  { namespace, signal }: { readonly namespace: string | undefined; readonly signal: AbortSignal },
): Promise<Snapshots> {
  const informer = createInformer({
    client,
    resource: sandboxSnapshots,
    namespaces: namespace === undefined ? undefined : [namespace],
  });
  void informer.run(signal);
  await informer.waitUntilSynced(signal);
  const listAll = (): readonly SandboxSnapshot[] => [...informer.store.values()];
  return {
    listAll,
    listOf: (sandbox) => listAll().filter((each) => isHibernationOf(each, sandbox) && !isGoing(each)),
  };
}

const isGoing = ({ metadata }: SandboxSnapshot): boolean => metadata.deletionTimestamp !== undefined;

/** The hibernation from which the next Pod of the Sandbox goes on. */
export function findNext(sandbox: Sandbox, snapshots: Snapshots): SandboxSnapshot | undefined {
  return snapshots.listOf(sandbox).find(isRestorable);
}
