// Volumes of clients of the E2B API: directories of one disk of their namespace (docs/volumes.md#volumes-of-the-e2b-api).
import { createHash } from 'node:crypto';
import type { ConfigMap, KubeObject } from '@sandlot/kube/objects';
import { z } from 'zod';
import { annotations, labels } from '../catalogue/keys.ts';
import type { PodSpec } from '../generated/core.ts';

/** Name of the PersistentVolumeClaim with the volumes of a namespace, and of the Deployment, Service and NetworkPolicy of its file server. */
export const VOLUMES_NAME = 'sandlot-volumes';
/** Port of the file server. */
export const VOLUMES_PORT = 8080;

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const registered = z.object({ id: z.string().regex(ID), namespace: z.string().min(1), name: z.string().default('') });

/** A volume as its ConfigMap says it. */
export interface TeamVolume {
  readonly id: string;
  /** As its client wrote it; empty in a tombstone. */
  readonly name: string;
  /** Whose it is. */
  readonly namespace: string;
}

/** A mount of a claim, as far as it says what is mounted. */
interface Mount {
  readonly persistentVolumeClaimName?: string | undefined;
  readonly subPath?: string | undefined;
}

/** Name of the ConfigMap of a volume. Its creation takes the name of the volume. */
export function formatVolumeObjectName(namespace: string, name: string): string {
  return `vol-${createHash('sha256')
    .update(JSON.stringify([namespace, name]))
    .digest('hex')
    .slice(0, 40)}`;
}

/** Name of the ConfigMap that says that a volume is deleted, and its data must go. */
function formatTombstoneName(id: string): string {
  return `gone-${id}`;
}

/** The ConfigMap of a volume, in the namespace where volumes are registered. */
export function buildVolumeObject({ id, name, namespace }: TeamVolume, registry: string): ConfigMap {
  return buildObject(formatVolumeObjectName(namespace, name), { registry, namespace, data: { id, namespace, name } });
}

/** Its counterpart once it is deleted. */
export function buildTombstone({ id, namespace }: Pick<TeamVolume, 'id' | 'namespace'>, registry: string): ConfigMap {
  return buildObject(formatTombstoneName(id), { registry, namespace, data: { id, namespace } });
}

interface Place {
  readonly registry: string;
  readonly namespace: string;
  readonly data: Readonly<Record<string, string>>;
}

function buildObject(name: string, { registry, namespace, data }: Place): ConfigMap {
  return { metadata: { namespace: registry, name, labels: { [labels.tenant]: namespace } }, data: { ...data } };
}

/** What a ConfigMap says about a volume; undefined: it is no volume, and no tombstone of one. */
export function readVolumeObject({
  metadata,
  data,
}: ConfigMap): { readonly volume: TeamVolume; readonly isTombstone: boolean } | undefined {
  const volume = registered.safeParse(data).data;
  if (volume === undefined || metadata.labels?.[labels.tenant] !== volume.namespace) return undefined;
  if (metadata.name === formatTombstoneName(volume.id)) return { volume, isTombstone: true };
  const isNamed = metadata.name === formatVolumeObjectName(volume.namespace, volume.name);
  return isNamed ? { volume, isTombstone: false } : undefined;
}

/** The id of the volume that a mount is of; undefined: it is of something else, or of more than one volume. */
export function findMountedVolume({ persistentVolumeClaimName, subPath = '' }: Mount): string | undefined {
  return persistentVolumeClaimName === VOLUMES_NAME && ID.test(subPath) ? subPath : undefined;
}

/** The ids of the volumes that a Pod mounts. */
export function listPodVolumes({ volumes = [], containers, initContainers = [] }: PodSpec): readonly string[] {
  const claims = new Map(volumes.map(({ name, persistentVolumeClaim: disk }) => [name, disk?.claimName]));
  const mounts = [...containers, ...initContainers].flatMap(({ volumeMounts = [] }) => volumeMounts);
  const ids = mounts.flatMap(
    ({ name, subPath }) => findMountedVolume({ persistentVolumeClaimName: claims.get(name), subPath }) ?? [],
  );
  return [...new Set(ids)];
}

/** Whether a mount shows the disk with the volumes in another way than volume by volume. */
export function isForeignVolumeMount(mount: Mount): boolean {
  return mount.persistentVolumeClaimName === VOLUMES_NAME && findMountedVolume(mount) === undefined;
}

/** A volume that a claim mounts. */
export interface MountedVolume {
  readonly id: string;
  readonly name: string;
  readonly path: string;
}

const mounted = z.array(z.object({ id: z.string(), name: z.string(), path: z.string() }));

/** The annotation of a claim with these volumes; undefined for none. */
export function formatMountedVolumes(volumes: readonly MountedVolume[]): string | undefined {
  return volumes.length === 0 ? undefined : JSON.stringify(volumes);
}

/** The volumes that the annotation of a claim names; none if it is malformed. */
export function listMountedVolumes({ metadata }: Pick<KubeObject, 'metadata'>): readonly MountedVolume[] {
  const text = metadata.annotations?.[annotations.volumeMounts];
  if (text === undefined) return [];
  try {
    return mounted.safeParse(JSON.parse(text)).data ?? [];
  } catch {
    return [];
  }
}
