import { pvcName } from '@sandlot/api-types';
import type { Sandbox, VolumeClaimTemplate } from '@sandlot/api-types';
import type { JsonObject, PersistentVolumeClaim } from '@sandlot/kube';
import { ownerReference, ownershipOf, refusalOf, release, takeOver, trackingLabel } from '../ownership/ownership.ts';
import { failed } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import type { Plan, Step } from '../plan/steps.ts';

/** Makes the disks there before the Pod: one PersistentVolumeClaim per template, owned as the retention policy says. */
export function decideClaims(snapshot: Snapshot): Plan {
  if (failed(snapshot, 'pvcs')) return [];
  const { sandbox, claims } = snapshot;
  return (sandbox.spec.volumeClaimTemplates ?? []).flatMap((template) => {
    const claim = claims.get(claimName(sandbox, template));
    return claim === undefined
      ? [{ kind: 'createClaim' as const, phase: 'pvcs' as const, claim: buildClaim(sandbox, template) }]
      : decideExisting(sandbox, claim);
  });
}

/** Names of the PersistentVolumeClaims a Sandbox has. */
export function claimNames(sandbox: Sandbox): string[] {
  return (sandbox.spec.volumeClaimTemplates ?? []).map((template) => claimName(sandbox, template));
}

/** Name of the PersistentVolumeClaim of one template. */
export function claimName(sandbox: Sandbox, template: VolumeClaimTemplate): string {
  return pvcName(template.metadata?.name ?? '', sandbox.metadata.name ?? '');
}

/** Whether the disks outlive a deleted Sandbox: then no owner reference may hand them to garbage collection. */
export function keepsClaimsWhenDeleted(sandbox: Sandbox): boolean {
  return sandbox.spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Retain';
}

/** Takes `claim` out of the reach of garbage collection; its label lets a later Sandbox of the name find it. */
export function releaseClaim(claim: PersistentVolumeClaim, sandbox: Sandbox): Step {
  return patchClaim(claim, { ...release(claim, sandbox), labels: trackingLabel(sandbox) });
}

/** Makes `claim` follow the Sandbox when it is deleted. */
export function takeOverClaim(claim: PersistentVolumeClaim, sandbox: Sandbox): Step {
  return patchClaim(claim, { ...takeOver(claim, sandbox), labels: trackingLabel(sandbox) });
}

function patchClaim(claim: PersistentVolumeClaim, metadata: JsonObject): Step {
  return { kind: 'patchClaim', phase: 'pvcs', claim, patch: { metadata } };
}

function decideExisting(sandbox: Sandbox, claim: PersistentVolumeClaim): Step[] {
  const refusal = refusalOf('PVC', claim, sandbox);
  if (refusal !== undefined) return [{ kind: 'refuse', phase: 'pvcs', message: refusal }];
  const isOurs = ownershipOf(claim, sandbox) === 'ours';
  if (keepsClaimsWhenDeleted(sandbox)) return isOurs ? [releaseClaim(claim, sandbox)] : [];
  return isOurs ? [] : [takeOverClaim(claim, sandbox)];
}

function buildClaim(sandbox: Sandbox, template: VolumeClaimTemplate): PersistentVolumeClaim {
  const { labels, annotations } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName(sandbox, template),
      namespace: sandbox.metadata.namespace,
      labels: { ...labels, ...trackingLabel(sandbox) },
      ...(annotations === undefined ? {} : { annotations }),
      ...(keepsClaimsWhenDeleted(sandbox) ? {} : { ownerReferences: [ownerReference(sandbox)] }),
    },
    spec: template.spec,
  };
}
