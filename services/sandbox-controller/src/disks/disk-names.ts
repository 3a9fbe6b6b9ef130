import { pvcName } from '@sandlot/api-types';
import type { Sandbox, VolumeClaimTemplate } from '@sandlot/api-types';

/** Names of the PersistentVolumeClaims of a Sandbox: docs/reference/names-and-hashes.md#names. */
export function diskNames(sandbox: Sandbox): string[] {
  return (sandbox.spec.volumeClaimTemplates ?? []).map((template) => diskName(sandbox, template));
}

/** Name of the PersistentVolumeClaim of one template. */
export function diskName(sandbox: Sandbox, template: VolumeClaimTemplate): string {
  return pvcName(template.metadata?.name ?? '', sandbox.metadata.name ?? '');
}
