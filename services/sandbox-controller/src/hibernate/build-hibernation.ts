import {
  annotations,
  buildHibernationName,
  hashPodTemplate,
  keepsFilesAlone,
  SNAPSHOT_GROUP,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import { buildOwnerReference, buildTrackingLabel } from '../ownership/ownership.ts';

/** The SandboxSnapshot by which the Sandbox hibernates with `pod`. One Pod has one, so a repeated create finds the first. */
export function buildHibernation(sandbox: Sandbox, pod: Pod): SandboxSnapshot {
  const { name = '', namespace } = sandbox.metadata;
  const { snapshotClassName } = sandbox.spec.suspensionStrategy?.hibernate ?? {};
  return {
    apiVersion: `${SNAPSHOT_GROUP}/v1alpha1`,
    kind: 'SandboxSnapshot',
    metadata: {
      name: buildHibernationName(name, pod.metadata.uid ?? ''),
      namespace,
      labels: buildTrackingLabel(sandbox),
      annotations: { [annotations.savedTemplate]: hashPodTemplate(sandbox) },
      ownerReferences: [buildOwnerReference(sandbox)],
    },
    spec: {
      sandboxName: name,
      ...(snapshotClassName === undefined ? {} : { snapshotClassName }),
      ...(keepsFilesAlone(sandbox) ? { contents: 'Files' as const } : {}),
      whenSaved: 'StayPaused',
    },
  };
}
