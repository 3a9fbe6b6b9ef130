import { parseQuantity } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';

const MEBIBYTE = 1_048_576;

export interface Size {
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskSizeMB: number;
}

interface SizedSpec {
  readonly podTemplate: Sandbox['spec']['podTemplate'];
  readonly volumeClaimTemplates?: Sandbox['spec']['volumeClaimTemplates'];
}

/** Resources of the first container and all disks, rounded up to whole CPUs and MiB. A size that is not specified is 0. */
export function buildSize(spec: SizedSpec | undefined): Size {
  const resources = spec?.podTemplate.spec.containers[0]?.resources;
  const limitOrRequest = (name: string): number =>
    parseQuantity(resources?.limits?.[name] ?? resources?.requests?.[name] ?? 0) ?? 0;
  const disks = (spec?.volumeClaimTemplates ?? []).map(
    (disk) => parseQuantity(disk.spec.resources?.requests?.['storage'] ?? 0) ?? 0,
  );
  const ephemeral = parseQuantity(resources?.limits?.['ephemeral-storage'] ?? 0) ?? 0;
  return {
    cpuCount: Math.max(1, Math.ceil(limitOrRequest('cpu'))),
    memoryMB: Math.ceil(limitOrRequest('memory') / MEBIBYTE),
    diskSizeMB: Math.ceil(disks.reduce((sum, disk) => sum + disk, ephemeral) / MEBIBYTE),
  };
}

/** How many bytes of memory the first container may use; undefined without a limit. */
export function findMemoryLimit(spec: SizedSpec | undefined): number | undefined {
  const limit = spec?.podTemplate.spec.containers[0]?.resources?.limits?.['memory'];
  return limit === undefined ? undefined : parseQuantity(limit);
}
