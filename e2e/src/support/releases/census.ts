import { persistentVolumeClaims, podDisruptionBudgets, pods } from '@sandlot/kube';
import type { Container, Pod } from '@sandlot/kube';
import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import type { Team } from '../team.ts';

type Client = Pick<Team, 'client'>;
type Resources = NonNullable<Container['resources']>;

const COMPONENT = 'app.kubernetes.io/component';
const labelSelector = 'app.kubernetes.io/name=sandlot';

/** Ready replicas of the release by the name of the workload, without the name of the release. */
export async function countReady(kind: 'deployments' | 'statefulsets'): Promise<Readonly<Record<string, number>>> {
  const rows = 'jsonpath={range .items[*]}{.metadata.name} {.status.readyReplicas}{"\\n"}{end}';
  const args = ['--namespace', inject('releaseNamespace'), 'get', kind, '--selector', labelSelector, '--output', rows];
  const lines = (await runKubectlOrFail(args)).split('\n').map((line) => line.split(' '));
  return Object.fromEntries(lines.map(([name = '', ready]) => [name.replace(/^sandlot-/, ''), Number(ready)]));
}

/** The PodDisruptionBudgets in the namespace of the release, without the name of the release. */
export async function listBudgets({ client }: Client): Promise<readonly string[]> {
  const { items } = await client.listAll(podDisruptionBudgets, { namespace: inject('releaseNamespace') });
  return items.map(({ metadata }) => (metadata.name ?? '').replace(/^sandlot-/, '')).toSorted();
}

/** The size of each bound volume of the release, by component. */
export async function listDisks({ client }: Client): Promise<Readonly<Record<string, readonly string[]>>> {
  const { items } = await client.listAll(persistentVolumeClaims, { namespace: inject('releaseNamespace') });
  const bound = items.filter(({ status }) => status?.phase === 'Bound');
  const rows = bound.map(({ metadata, status }): [string, string] => [
    metadata.labels?.[COMPONENT] ?? '',
    status?.capacity?.['storage'] ?? '',
  ]);
  return gather(rows);
}

/** The Pods of the release, those of `helm test` excepted. */
export async function listReleasePods({ client }: Client): Promise<readonly Pod[]> {
  const { items } = await client.listAll(pods, { namespace: inject('releaseNamespace'), labelSelector });
  return items.filter((pod) => getComponent(pod) !== 'test');
}

const getComponent = ({ metadata }: Pod): string => metadata.labels?.[COMPONENT] ?? '';

/** The requests and limits of each Pod of the release, by component. */
export async function listResources(from: Client): Promise<Readonly<Record<string, readonly Resources[]>>> {
  const found = await listReleasePods(from);
  return gather(found.map((pod) => [getComponent(pod), pod.spec.containers[0]?.resources ?? {}]));
}

function gather<T>(rows: readonly (readonly [string, T])[]): Readonly<Record<string, readonly T[]>> {
  const groups = Map.groupBy(rows, ([key]) => key);
  return Object.fromEntries([...groups].map(([key, members]) => [key, members.map(([, value]) => value)]));
}
