import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { offerNetworkDisks } from '../nodes/network-disks.ts';
import type { Team } from '../team.ts';

const STORAGE_CLASS = 'servers-on-network';
/** The claims of the StatefulSet for the servers of NATS that a cluster of three has beside the first. */
const DISKS = ['data-sandlot-nats-1', 'data-sandlot-nats-2'];

/**
 * Gives two servers of NATS disks that every node can mount, before there are these servers: they then follow their Pods. Disposing
 * deletes the disks, which needs the release to be back at one server.
 */
export async function giveNetworkDisks(team: Team): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  stack.use(await offerNetworkDisks(team, STORAGE_CLASS, DISKS.length));
  stack.defer(removeDisks);
  // Those that a release with three servers has left here are on this node.
  await removeDisks();
  await runKubectlOrFail([...inRelease(), 'apply', '-f', '-'], DISKS.map(formatDisk).join('---'));
  const all = stack.move();
  return { [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function removeDisks(): Promise<void> {
  const how = ['--ignore-not-found', '--timeout=120s'];
  await runKubectlOrFail([...inRelease(), 'delete', 'persistentvolumeclaims', ...DISKS, ...how]);
}

const inRelease = (): readonly string[] => ['--namespace', inject('releaseNamespace')];

const formatDisk = (name: string): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  storageClassName: ${STORAGE_CLASS}
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Mi}}
`;
