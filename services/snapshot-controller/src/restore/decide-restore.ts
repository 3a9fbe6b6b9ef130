import { annotations, isSpent, isUploaded, leavesFiles, needsFiles, ONLY_FILES } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { findController } from '@sandlot/kube/objects';
import type { Pod } from '@sandlot/kube';
import type { Plan, Step } from '../plan/steps.ts';
import type { Scene } from '../plan/scene.ts';
import { buildRestoreStatus } from '../status/build-status.ts';
import { buildRestoreStep, isHere } from './build-restore-step.ts';
import { decideFollow } from './decide-follow.ts';

/**
 * Whether a Pod may go on from a snapshot that is Ready. The status says which one before the node does, and its write is
 * guarded, so that two processes that both believe they lead never choose two.
 */
export function decideRestore(scene: Scene): Plan {
  const { restore } = scene.object.status ?? {};
  if (restore?.state === 'Announced') return decideFollow(scene, restore);
  const pods = scene.pods.filter((pod) => pod.spec.nodeName !== undefined && !hasEnded(pod));
  const isTaken = isSpent(scene.object) && !leavesFiles(scene.object);
  const chosen = isTaken ? undefined : pods.find((pod) => isFree(scene, pod));
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

/** A Pod that had its turn gets no second one. */
function isFree(scene: Scene, pod: Pod): boolean {
  const { restore } = scene.object.status ?? {};
  const hadIt = restore?.state === 'Failed' && restore.podUID === pod.metadata.uid;
  return !hadIt && findObstacle(scene, pod) === undefined;
}

function announce(scene: Scene, pod: Pod): Step[] {
  const { name = '', uid = '' } = pod.metadata;
  const { nodeName = '' } = pod.spec;
  const request = { podName: name, podUID: uid, ...(asksForFiles(pod) ? { only: ONLY_FILES } : {}) } as const;
  const status = buildRestoreStatus(scene, { ...request, nodeName, state: 'Announced' });
  return [{ kind: 'status', status }, buildRestoreStep(scene, { ...request, nodeName })];
}

type Check = (object: SandboxSnapshot, pod: Pod) => string | undefined;

/** In this order; the first one that objects decides. */
const checks: readonly Check[] = [
  findForeignNamespace,
  findForeignOwner,
  findOtherMark,
  findOtherHolder,
  findOtherContents,
  findOtherNode,
];

/** A Pod of the Sandbox that waits for a node that can restore it. */
export function findWaiting(scene: Scene): Pod | undefined {
  const ownChecks = checks.filter((check) => check !== findOtherNode);
  const isOwn = (pod: Pod): boolean => ownChecks.every((check) => check(scene.object, pod) === undefined);
  return scene.pods.find((pod) => pod.spec.nodeName === undefined && !hasEnded(pod) && isOwn(pod));
}

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

function findOtherHolder(object: SandboxSnapshot, pod: Pod): string | undefined {
  const { status } = object;
  const isTaken = isSpent({ status }, pod.metadata.uid) && !leavesFiles(object);
  return isTaken ? 'another Pod has had the snapshot' : undefined;
}

function asksForFiles({ metadata }: Pod): boolean {
  return metadata.annotations?.[annotations.restoreOnly] === ONLY_FILES;
}

function findOtherContents(object: SandboxSnapshot, pod: Pod): string | undefined {
  const { hasFiles, restore } = object.status ?? {};
  if (asksForFiles(pod)) return hasFiles === true ? undefined : 'it asks for files, which were not kept';
  const isOver = restore?.podUID === pod.metadata.uid;
  return needsFiles(object) && !isOver ? 'it asks for memory, and only files are left' : undefined;
}

/** What the bucket has goes to any node; that one knows whether it can restore it. */
function findOtherNode(object: SandboxSnapshot, { spec: { nodeName = '' } }: Pod): string | undefined {
  if (isHere(object, nodeName) || isUploaded(object)) return undefined;
  return `the data is on node ${object.status?.nodeName ?? ''}`;
}

function buildRefusal(pod: Pod, obstacle: string | undefined): Step[] {
  if (obstacle === undefined) return [];
  return [{ kind: 'refuse', pod, message: `The Pod is not restored from its snapshot: ${obstacle}` }];
}
