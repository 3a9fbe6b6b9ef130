import type { PodSpec, SandboxClaim } from '@sandlot/api-types';
import { tidyPath } from './paths.ts';

export type DynamicVolume = NonNullable<SandboxClaim['spec']['dynamicVolumes']>[number];

/** A volume of the Pod. Several mounts may share one: a kubelet may wait for ever for a disk that a Pod lists twice. */
export interface VolumeSource {
  readonly key: string;
  /** Of the Pod's volume. */
  readonly name: string;
  /** The first mount of it. */
  readonly volume: DynamicVolume;
  /** False for a disk that the template's Pod has already. */
  readonly isNew: boolean;
}

export function hasDynamicVolumes(claim: SandboxClaim): boolean {
  return listVolumes(claim).length > 0;
}

/** PersistentVolumes that the claim names, each once. */
export function listPersistentVolumeNames(claim: SandboxClaim): readonly string[] {
  return [
    ...new Set(listVolumes(claim).flatMap(({ persistentVolumeName: name }) => (name === undefined ? [] : [name]))),
  ];
}

/** The claim's dynamicVolumes that the first container of a Pod does not have as it is. */
export function listMissingVolumes(claim: SandboxClaim, podSpec: PodSpec | undefined): readonly DynamicVolume[] {
  const present = new Set(podSpec === undefined ? [] : listMounted(podSpec).map(formatMount));
  return listVolumes(claim).filter((volume) => !present.has(formatMount(volume)));
}

/** What the first container of a Pod has, as a claim would name it. A folder that a variable names is nothing that a claim can name. */
function listMounted({ volumes = [], containers: [first] }: PodSpec): readonly DynamicVolume[] {
  const disks = new Map(volumes.map(({ name, persistentVolumeClaim }) => [name, persistentVolumeClaim]));
  return (first?.volumeMounts ?? []).flatMap(({ name, mountPath, subPath, subPathExpr, readOnly = false }) => {
    const disk = disks.get(name);
    if (disk === undefined || subPathExpr !== undefined) return [];
    const cannotWrite = readOnly || disk.readOnly === true;
    return [{ persistentVolumeClaimName: disk.claimName, mountPath, subPath, readOnly: cannotWrite }];
  });
}

/** Equal for mounts of the same folder of the same disk at the same place in the same mode. */
function formatMount({ persistentVolumeClaimName, mountPath, subPath = '', readOnly = false }: DynamicVolume): string {
  return JSON.stringify([persistentVolumeClaimName, tidyPath(mountPath), subPath, readOnly]);
}

/** The Pod volumes that the claim's dynamicVolumes need besides what the Pod has, in order of their first mount. */
export function listVolumeSources(claim: SandboxClaim, podSpec: PodSpec | undefined): readonly VolumeSource[] {
  const present = new Map(
    (podSpec?.volumes ?? []).map(({ name, persistentVolumeClaim: disk }) => [disk?.claimName ?? '', name]),
  );
  const firsts = new Map<string, DynamicVolume>();
  for (const volume of listMissingVolumes(claim, podSpec))
    if (!firsts.has(getSourceKey(volume))) firsts.set(getSourceKey(volume), volume);
  return [...firsts].map(([key, volume], index) => {
    const { persistentVolumeClaimName: claimName = '' } = volume;
    const name = claimName === '' ? undefined : present.get(claimName);
    return { key, name: name ?? `dynamic-${index}`, volume, isNew: name === undefined };
  });
}

/** Mounts with the same key share a volume of the Pod. */
export function getSourceKey({ persistentVolumeClaimName, persistentVolumeName }: DynamicVolume): string {
  return persistentVolumeName === undefined
    ? `claim/${persistentVolumeClaimName ?? ''}`
    : `volume/${persistentVolumeName}`;
}

function listVolumes({ spec }: SandboxClaim): readonly DynamicVolume[] {
  return spec.dynamicVolumes ?? [];
}
