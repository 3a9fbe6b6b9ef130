import { annotations, isSpent } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { findController } from '@sandlot/kube/objects';
import type { Pod } from '@sandlot/kube';
import type { Plan, Step } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { buildRestoreStatus } from '../status/build-status.ts';
import { decideFollow } from './decide-follow.ts';

/**
 * Whether a Pod may go on from a snapshot that is Ready. The status says which one before the node does, and its write is
 * guarded, so that two processes that both believe they lead never choose two.
 */
export function decideRestore(scene: Scene): Plan {
  const { restore } = scene.object.status ?? {};
  if (restore?.state === 'Announced') return decideFollow(scene, restore);
  const pods = scene.pods.filter((pod) => pod.spec.nodeName !== undefined && !hasEnded(pod));
  const chosen = isSpent(scene.object) ? undefined : pods.find((pod) => findObstacle(scene, pod) === undefined);
  const refusals = pods.flatMap((pod) => buildRefusal(pod, chosen === pod ? undefined : findObstacle(scene, pod)));
  return { steps: [...(chosen === undefined ? [] : announce(scene, chosen)), ...refusals] };
}

/** Whether the containers of the Pod have ended for good. */
export function hasStopped({ status }: Pod): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}

/** Whether the Pod has stopped, or is about to. */
export function hasEnded(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined || hasStopped(pod);
}

function announce(scene: Scene, { metadata: { name = '', uid = '' }, spec: { nodeName = '' } }: Pod): Step[] {
  const request = { podName: name, podUID: uid };
  const status = buildRestoreStatus(scene, { ...request, nodeName, state: 'Announced' });
  return [
    { kind: 'status', status },
    { kind: 'restore', nodeName, request },
  ];
}

type Check = (object: SandboxSnapshot, pod: Pod) => string | undefined;

/** In this order; the first one that objects decides. */
const checks: readonly Check[] = [
  findForeignNamespace,
  findForeignOwner,
  findOtherMark,
  findOtherHolder,
  findOtherNode,
];

/** Why the Pod may not have the snapshot. A mark proves nothing: it only says which snapshot the Pod waits for. */
function findObstacle({ object }: Scene, pod: Pod): string | undefined {
  return checks.map((check) => check(object, pod)).find((obstacle) => obstacle !== undefined);
}

function findForeignNamespace({ metadata }: SandboxSnapshot, pod: Pod): string | undefined {
  return pod.metadata.namespace === metadata.namespace ? undefined : 'it is in another namespace than the snapshot';
}

function findForeignOwner({ status }: SandboxSnapshot, pod: Pod): string | undefined {
  const owner = findController(pod);
  const isOwn = owner?.kind === 'Sandbox' && owner.uid === status?.source?.sandboxUID;
  return isOwn ? undefined : 'no Sandbox controls it that the snapshot is of';
}

function findOtherMark({ metadata }: SandboxSnapshot, pod: Pod): string | undefined {
  const mark = pod.metadata.annotations?.[annotations.restoreSnapshot];
  return mark === metadata.uid ? undefined : 'its annotation names another snapshot';
}

function findOtherHolder({ status }: SandboxSnapshot, pod: Pod): string | undefined {
  return isSpent({ status }, pod.metadata.uid) ? 'another Pod has had the snapshot' : undefined;
}

function findOtherNode({ status }: SandboxSnapshot, pod: Pod): string | undefined {
  const { nodeName = '' } = status ?? {};
  return pod.spec.nodeName === nodeName ? undefined : `the data is on node ${nodeName}`;
}

function buildRefusal(pod: Pod, obstacle: string | undefined): Step[] {
  if (obstacle === undefined) return [];
  return [{ kind: 'refuse', pod, message: `The Pod is not restored from its snapshot: ${obstacle}` }];
}
