import { createHash } from 'node:crypto';
import { annotations, buildHibernationName, SNAPSHOT_GROUP } from '@sandlot/api-types';
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
      whenSaved: 'StayPaused',
    },
  };
}

/** Digest of what the Sandbox says about its Pod. Processes cannot go on in a Pod of another image or command. */
export function hashPodTemplate({ spec: { podTemplate, runtime } }: Sandbox): string {
  const said = { pod: podTemplate.spec, inject: runtime?.inject ?? false };
  return createHash('sha256').update(JSON.stringify(said, sortMembers)).digest('hex').slice(0, HASH_DIGITS);
}

const HASH_DIGITS = 16;

/** A replacer of JSON.stringify: equal values get one text, in whatever order their members came. */
function sortMembers(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
