import { annotations, buildStartName, hashPodTemplate, SNAPSHOT_GROUP } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { buildOwnerReference, buildTrackingLabel } from '../ownership/ownership.ts';

/** The Sandbox's own copy of the snapshot that it starts from. A Sandbox has one, so a repeated create finds the first. */
export function buildCopy(sandbox: Sandbox, snapshotName: string): SandboxSnapshot {
  const { name = '', namespace, uid = '' } = sandbox.metadata;
  return {
    apiVersion: `${SNAPSHOT_GROUP}/v1alpha1`,
    kind: 'SandboxSnapshot',
    metadata: {
      name: buildStartName(name, uid),
      namespace,
      labels: buildTrackingLabel(sandbox),
      annotations: { [annotations.savedTemplate]: hashPodTemplate(sandbox) },
      ownerReferences: [buildOwnerReference(sandbox)],
    },
    spec: { sandboxName: name, whenSaved: 'StayPaused', copyOf: { snapshotName } },
  };
}
