import {
  findDaemonImage,
  getPodName,
  isHibernationOf,
  needsHibernation,
  resolveMode,
  sandboxes,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { findController, pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import type { PodLook, SourceLook } from '../plan/scene.ts';

/** Reads the objects themselves: the controller watches neither all Sandboxes nor all Pods. */
export async function lookAtSource(
  client: KubeClient,
  object: SandboxSnapshot,
  signal: AbortSignal,
): Promise<SourceLook> {
  const { namespace } = object.metadata;
  const sandbox = await client.find(sandboxes, { namespace, name: object.spec.sandboxName }, { signal });
  if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) return {};
  const pod = await client.find(pods, { namespace, name: getPodName(sandbox) }, { signal });
  return {
    sandbox: { uid: sandbox.metadata.uid ?? '', hibernates: hibernates(object, sandbox), object: sandbox },
    pod: readPod(sandbox, pod),
  };
}

function hibernates(object: SandboxSnapshot, sandbox: Sandbox): boolean {
  return (
    resolveMode(sandbox.spec) === 'Suspended' && needsHibernation(sandbox.spec) && isHibernationOf(object, sandbox)
  );
}

function readPod({ metadata: { uid } }: Sandbox, pod: Pod | undefined): PodLook | undefined {
  if (pod === undefined || findController(pod)?.uid !== uid) return undefined;
  const { metadata, spec, status } = pod;
  const isRunning = metadata.deletionTimestamp === undefined && status?.phase === 'Running';
  if (!isRunning || spec.nodeName === undefined) return undefined;
  const daemonImage = findDaemonImage(pod);
  return { name: metadata.name ?? '', uid: metadata.uid ?? '', nodeName: spec.nodeName, daemonImage };
}
