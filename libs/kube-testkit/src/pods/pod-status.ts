import type { Condition, ContainerStatus, Pod } from '@sandlot/kube';

/** How the simulated kubelet and scheduler treat a pod. */
export type PodBehaviour =
  /** Scheduled, running, ready. */
  | 'run'
  /** Scheduled and running, but probes fail. */
  | 'notReady'
  /** Scheduled, but containers never start. */
  | 'stayPending'
  /** Scheduled, but the image cannot be pulled. */
  | 'imagePullBackOff'
  /** No node fits. */
  | 'unschedulable'
  /** All containers exit with 0. */
  | 'succeed'
  /** A container exits with 1. */
  | 'fail';

export type PodStatus = NonNullable<Pod['status']>;

interface StatusInput {
  readonly pod: Pod;
  readonly ip: string;
  /** `metav1.Time` of the change. */
  readonly now: string;
}

/** The status that a kubelet reports for a scheduled pod with this behaviour. */
export function buildPodStatus(behaviour: PodBehaviour, { pod, ip, now }: StatusInput): PodStatus {
  const running = { podIP: ip, podIPs: [{ ip }], hostIP: '192.0.2.1', startTime: now };
  const waiting = { hostIP: '192.0.2.1', startTime: now, phase: 'Pending' } as const;
  switch (behaviour) {
    case 'run':
      return {
        ...running,
        phase: 'Running',
        ...buildStatus(pod, now, { ready: true, state: { running: { startedAt: now } } }),
      };
    case 'notReady':
      return { ...running, phase: 'Running', ...buildStatus(pod, now, { state: { running: { startedAt: now } } }) };
    case 'stayPending':
      return { ...waiting, ...buildStatus(pod, now, { state: { waiting: { reason: 'ContainerCreating' } } }) };
    case 'imagePullBackOff':
      return { ...waiting, ...buildStatus(pod, now, { state: { waiting: PULL_FAILURE } }) };
    case 'unschedulable':
      return {
        phase: 'Pending',
        conditions: [buildUnschedulableCondition(now, 'no node is available to the simulation')],
      };
    case 'succeed':
      return {
        ...running,
        phase: 'Succeeded',
        ...buildStatus(pod, now, { state: findTerminatedState(now, 0, 'Completed') }),
      };
    case 'fail':
      return { ...running, phase: 'Failed', ...buildStatus(pod, now, { state: findTerminatedState(now, 1, 'Error') }) };
  }
}

const PULL_FAILURE = { reason: 'ImagePullBackOff', message: 'Back-off pulling image' };

export function buildUnschedulableCondition(now: string, message: string): Condition {
  return { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: now };
}

function findTerminatedState(now: string, exitCode: number, reason: string): ContainerStatus['state'] {
  return { terminated: { exitCode, reason, startedAt: now, finishedAt: now } };
}

/** Consistent conditions and container statuses. */
function buildStatus(
  pod: Pod,
  now: string,
  { ready = false, state }: { ready?: boolean; state: ContainerStatus['state'] },
): Pick<PodStatus, 'conditions' | 'containerStatuses'> {
  const condition = (type: string, holds: boolean): Condition => ({
    type,
    status: holds ? 'True' : 'False',
    lastTransitionTime: now,
    ...(holds ? {} : { reason: 'ContainersNotReady' }),
  });
  return {
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('ContainersReady', ready),
      condition('Ready', ready),
    ],
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({ name, image, ready, restartCount: 0, state })),
  };
}
