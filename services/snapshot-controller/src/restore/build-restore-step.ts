import { annotations, isUploaded, labels } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { RemoteData } from '../agent/messages.ts';
import type { Scene } from '../plan/scene.ts';
import type { Step } from '../plan/steps.ts';
import type { Restore } from '../status/build-status.ts';

/** The call that lets a Pod have the snapshot, which is the same however often it is repeated. */
export function buildRestoreStep(
  { object, pods }: Pick<Scene, 'object' | 'pods'>,
  { podName, podUID, nodeName, only }: Pick<Restore, 'podName' | 'podUID' | 'nodeName' | 'only'>,
): Step {
  const remote = isHere(object, nodeName) ? undefined : findRemoteData(object);
  const pod = pods.find(({ metadata }) => metadata.uid === podUID);
  // A claim that takes the Sandbox from its warm pool removes the label.
  const isSpare = pod?.metadata.labels?.[labels.warmPoolMember] !== undefined;
  const request = { podName, podUID, only, ...(isSpare ? { spare: true as const } : {}) };
  const trace = pod?.metadata.annotations?.[annotations.restoreTrace];
  const step = { kind: 'restore', nodeName, request, ...(trace === undefined ? {} : { trace }) } as const;
  return remote === undefined ? step : { ...step, remote };
}

/** Whether this node has the data, as far as the status says. */
export function isHere({ status }: SandboxSnapshot, nodeName: string): boolean {
  return status?.nodeName === nodeName;
}

/** Only the status says what is downloaded: users write annotations, and only the controller writes the status. */
function findRemoteData(object: SandboxSnapshot): RemoteData | undefined {
  const { remote, remoteOf } = object.status ?? {};
  if (!isUploaded(object) || remote?.digest === undefined) return undefined;
  return { uid: remoteOf ?? object.metadata.uid ?? '', digest: remote.digest };
}
