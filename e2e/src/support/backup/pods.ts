import { readFile, readdir } from 'node:fs/promises';
import { pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { inject } from 'vitest';
import type { Team } from '../team.ts';

/** How many processes of a Pod this machine has, which is the node: also of a Pod that the API server does not know. */
export async function countProcesses(uid: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const groups = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')));
  // Some cgroup drivers write the dashes of the UID as underscores.
  return groups.filter((text) => text.replaceAll('_', '-').includes(uid)).length;
}

/** The Pods of the team's namespace by name. */
export async function readPods({ client, namespace }: Team): Promise<ReadonlyMap<string, Pod>> {
  const { items } = await client.listAll(pods, { namespace });
  return new Map(items.map((pod) => [pod.metadata.name ?? '', pod]));
}

/** The UID of a Pod, and when its containers started: the same for as long as its programs go on. */
export function getIdentity({ metadata, status }: Pod): string {
  const starts = (status?.containerStatuses ?? []).map(({ state }) => state?.running?.startedAt ?? 'does not run');
  return [metadata.uid, ...starts].join(' ');
}

/** The identities of all Pods of the release: a controller that ended and came back has another one. */
export async function readRelease({ client }: Team): Promise<readonly string[]> {
  const { items } = await client.listAll(pods, { namespace: inject('releaseNamespace') });
  const running = items.filter(({ status }) => status?.phase === 'Running');
  return running.map((pod) => `${pod.metadata.name ?? ''} ${getIdentity(pod)}`).toSorted();
}
