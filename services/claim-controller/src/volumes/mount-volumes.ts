import type { PodSpec, SandboxClaim, VolumeClaimTemplate } from '@sandlot/api-types';
import type { ReadVolumes } from './snapshot-volumes.ts';
import { getSourceKey, listMissingVolumes, listVolumeSources } from './volume-sources.ts';
import type { DynamicVolume, VolumeSource } from './volume-sources.ts';

/** The parts of a cold start that volumes change. */
export interface VolumeBase {
  readonly podSpec: PodSpec;
  readonly volumeClaimTemplates: readonly VolumeClaimTemplate[];
}

/**
 * The cold start with the claim's volumes in its first container, which may have some from its template. Call it only for claims that pass `dynamicVolumesRefusal`
 * and `persistentVolumeProblem`. A resumed Sandbox mounts them again, since its Pod is built from the same template.
 */
export function mountDynamicVolumes(claim: SandboxClaim, base: VolumeBase, read: ReadVolumes): VolumeBase {
  const { podSpec } = base;
  const sources = listVolumeSources(claim, podSpec);
  const names = new Map(sources.map(({ key, name }) => [key, name]));
  const mounts = listMissingVolumes(claim, podSpec).map((volume) =>
    buildMount(volume, names.get(getSourceKey(volume)) ?? ''),
  );
  const volumes = sources.flatMap(({ name, volume: { persistentVolumeClaimName: claimName }, isNew }) =>
    claimName === undefined || !isNew ? [] : [{ name, persistentVolumeClaim: { claimName } }],
  );
  const [first, ...others] = podSpec.containers;
  if (first === undefined) return base;
  const container = { ...first, volumeMounts: [...(first.volumeMounts ?? []), ...mounts] };
  const disks = volumes.length === 0 ? {} : { volumes: [...(podSpec.volumes ?? []), ...volumes] };
  return {
    podSpec: { ...podSpec, ...disks, containers: [container, ...others] },
    volumeClaimTemplates: [...base.volumeClaimTemplates, ...sources.flatMap((source) => getBinding(source, read))],
  };
}

function buildMount(
  { mountPath, subPath, readOnly }: DynamicVolume,
  name: string,
): { name: string; mountPath: string; subPath?: string; readOnly?: boolean } {
  return {
    name,
    mountPath,
    ...(subPath === undefined ? {} : { subPath }),
    ...(readOnly === undefined ? {} : { readOnly }),
  };
}

/** Has the sandbox-controller bind exactly that volume. Class "" keeps the cluster's default class out of it. */
function getBinding({ name, volume }: VolumeSource, read: ReadVolumes): VolumeClaimTemplate[] {
  const { persistentVolumeName: volumeName } = volume;
  const found = volumeName === undefined ? undefined : read.get(volumeName);
  if (found === undefined || typeof found === 'string') return [];
  const { accessModes = [], capacity = {}, storageClassName = '' } = found.spec ?? {};
  const { storage } = capacity;
  const resources = storage === undefined ? {} : { resources: { requests: { storage } } };
  return [{ metadata: { name }, spec: { volumeName, storageClassName, accessModes, ...resources } }];
}
