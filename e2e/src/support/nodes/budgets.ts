import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '@sandlot/kube';
import { listReleasePods } from '../releases/census.ts';
import type { Team } from '../team.ts';

const LOOK_EVERY_MS = 100;
const COMPONENT = 'app.kubernetes.io/component';

/** The Pods of one component of the release. */
export interface ReadyCount {
  /** How many were Ready at first. */
  readonly before: number;
  /** How many of them were on each node at first, by its name. */
  readonly byNode: Readonly<Record<string, number>>;
  /** The fewest that were Ready at any look. */
  readonly fewest: number;
}

/** Looks at the Pods of the release again and again until it is stopped. */
export interface ReadyWatch {
  /** By component. Rejects with the error of a look that failed. */
  stop(): Promise<ReadonlyMap<string, ReadyCount>>;
}

export async function watchReady(team: Team): Promise<ReadyWatch> {
  const ending = new AbortController();
  const first = await listReadyPods(team);
  const fewest = new Map([...first].map(([name, members]) => [name, members.length]));
  const looking = (async () => {
    while (!ending.signal.aborted) {
      const now = await listReadyPods(team);
      for (const [name, count] of fewest) fewest.set(name, Math.min(count, now.get(name)?.length ?? 0));
      await sleep(LOOK_EVERY_MS);
    }
  })();
  return {
    stop: async () => {
      ending.abort();
      await looking;
      const rows = [...first].map(([name, members]): [string, ReadyCount] => [
        name,
        { before: members.length, byNode: countByNode(members), fewest: fewest.get(name) ?? 0 },
      ]);
      return new Map(rows);
    },
  };
}

/** The Ready Pods by component. As for a budget, one that is about to end does not count. */
async function listReadyPods(team: Team): Promise<ReadonlyMap<string, readonly Pod[]>> {
  const found = await listReleasePods(team);
  return Map.groupBy(found.filter(isReady), ({ metadata }) => metadata.labels?.[COMPONENT] ?? '');
}

const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true;

/** How many of these Pods each node has, by its name. */
export function countByNode(members: readonly Pod[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(members, ({ spec }) => spec.nodeName ?? '');
  return Object.fromEntries([...groups].map(([name, here]) => [name, here.length]));
}
