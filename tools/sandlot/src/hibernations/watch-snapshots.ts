import { isHibernationOf, isRestorable, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';

export type Kept = 'Memory' | 'Files' | 'Volumes';

/** What the watch has seen of SandboxSnapshots, also of those that are gone. */
export interface Snapshots {
  listAll(): readonly SandboxSnapshot[];
  /** The hibernations of the Sandbox that are left and not being deleted. */
  listOf(sandbox: Sandbox): readonly SandboxSnapshot[];
  /** With what the Pod began that got this hibernation. */
  getOutcome(uid: string): Kept;
}

/** Watches until the signal aborts. Resolves once the first list is there. A watch, because a hibernation goes as soon as it is restored. */
export async function watchSnapshots(
  client: KubeClient,
  { namespace, signal }: { readonly namespace: string | undefined; readonly signal: AbortSignal },
): Promise<Snapshots> {
  const restores = new Map<string, SandboxSnapshotStatus['restore']>();
  const informer = createInformer({ client, resource: sandboxSnapshots, namespace });
  informer.onChange(({ next, last, old }) => {
    const { metadata, status } = next ?? last ?? old ?? { metadata: {} };
    if (status?.restore !== undefined) restores.set(metadata.uid ?? '', status.restore);
  });
  void informer.run(signal);
  await informer.waitUntilSynced(signal);
  const listAll = (): readonly SandboxSnapshot[] => [...informer.store.values()];
  return {
    listAll,
    listOf: (sandbox) => listAll().filter((each) => isHibernationOf(each, sandbox) && !isGoing(each)),
    getOutcome: (uid) => readOutcome(restores.get(uid)),
  };
}

const isGoing = ({ metadata }: SandboxSnapshot): boolean => metadata.deletionTimestamp !== undefined;

function readOutcome(restore: SandboxSnapshotStatus['restore']): Kept {
  if (restore?.state !== 'Restored') return 'Volumes';
  return restore.only === undefined ? 'Memory' : 'Files';
}

/** The hibernation from which the next Pod of the Sandbox goes on. */
export function findNext(sandbox: Sandbox, snapshots: Snapshots): SandboxSnapshot | undefined {
  return snapshots.listOf(sandbox).find(isRestorable);
}
