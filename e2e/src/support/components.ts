import { pods } from '@sandlot/kube';
import { inject } from 'vitest';
import { runKubectlOrFail } from './kubectl.ts';
import { eventually } from './team.ts';
import type { Team } from './team.ts';

/** The workloads of the release, by component. */
const WORKLOADS = {
  nats: 'statefulset/sandlot-nats',
  redis: 'statefulset/sandlot-redis',
  'claim-controller': 'deployment/sandlot-claim-controller',
  'sandbox-controller': 'deployment/sandlot-sandbox-controller',
} as const;

export type Component = keyof typeof WORKLOADS;

/** Components whose absence must not stop deletions, deadlines and wakes for good. */
export const COMPONENTS = ['nats', 'redis', 'sandbox-controller'] as const satisfies readonly Component[];

const inRelease = (...args: readonly string[]): Promise<string> =>
  runKubectlOrFail(['--namespace', inject('releaseNamespace'), ...args]);

async function listPods(team: Team, component: string): Promise<string[]> {
  const labelSelector = `app.kubernetes.io/component=${component}`;
  const { items } = await team.client.list(pods, { namespace: inject('releaseNamespace'), labelSelector });
  return items.map(({ metadata }) => metadata.name ?? '');
}

/** Scales a component to 0 and waits until its pods are gone. */
export async function stopComponent(team: Team, component: Component): Promise<void> {
  await inRelease('scale', WORKLOADS[component], '--replicas=0');
  await eventually(`${component} is gone`, async () =>
    (await listPods(team, component)).length === 0 ? true : undefined,
  );
}

/** Scales a component to 1 and waits until it is ready. */
export async function startComponent(component: Component): Promise<void> {
  await inRelease('scale', WORKLOADS[component], '--replicas=1');
  await inRelease('rollout', 'status', WORKLOADS[component], '--timeout=110s');
}

/** Sets an environment variable of a component, and waits until its new pod is ready. */
export async function setVariable(component: Component, name: string, value: string): Promise<void> {
  await inRelease('set', 'env', WORKLOADS[component], `${name}=${value}`);
  await inRelease('rollout', 'status', WORKLOADS[component], '--timeout=110s');
}

/** Deletes the pods of a component without grace: they do not drain or release their lease. */
export async function killComponent(team: Team, component: string): Promise<void> {
  const names = await listPods(team, component);
  if (names.length === 0) throw new Error(`no pod of ${component} to kill`);
  const namespace = inject('releaseNamespace');
  await Promise.all(names.map((name) => team.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 })));
}
