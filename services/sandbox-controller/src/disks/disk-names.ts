import { formatDiskName } from '@sandlot/api-types';
import type { Sandbox, VolumeClaimTemplate } from '@sandlot/api-types';

/** Names of the PersistentVolumeClaims of a Sandbox: docs/reference/names-and-hashes.md#names. */
export function listDiskNames(sandbox: Sandbox): string[] {
  return (sandbox.spec.volumeClaimTemplates ?? []).map((template) => getDiskName(sandbox, template));
}

/** Name of the PersistentVolumeClaim of one template. */
export function getDiskName(sandbox: Sandbox, template: VolumeClaimTemplate): string {
  return formatDiskName(template.metadata?.name ?? '', sandbox.metadata.name ?? '');
}
