import { readVolumeObject, VOLUMES_NAME } from '@sandlot/api-types';
import type { ConfigMap, KubeClient, Store } from '@sandlot/kube';
import { buildObject, isLike, isOurs, resources } from './objects/build-objects.ts';
import type { ObjectSettings } from './objects/build-objects.ts';
import { parts } from './plan/scene.ts';
import type { Part, Present, Registered, Scene } from './plan/scene.ts';
import { BY_TENANT } from './wiring/informers.ts';

export interface ObserveDeps {
  readonly client: Pick<KubeClient, 'find'>;
  readonly volumes: Store<ConfigMap>;
  readonly objects: ObjectSettings;
}

/** Everything about the volumes of one namespace. Few namespaces have volumes, so the objects are read and not watched. */
export async function observe(deps: ObserveDeps, namespace: string): Promise<Scene> {
  const found = await Promise.all(parts.map((part) => observePart(deps, namespace, part)));
  const present: Partial<Record<Part, Present>> = {};
  parts.forEach((part, index) => {
    if (found[index] !== undefined) present[part] = found[index];
  });
  return { ...sortRegistered([...deps.volumes.listByIndex(BY_TENANT, namespace)]), present };
}

/** Volumes and tombstones among ConfigMaps of the registry. */
export function sortRegistered(objects: readonly ConfigMap[]): Omit<Scene, 'present'> {
  const read = objects.flatMap((object) => {
    const { volume, isTombstone } = readVolumeObject(object) ?? {};
    if (volume === undefined) return [];
    const { name: objectName = '', uid } = object.metadata;
    return [{ volume, objectName, uid, isTombstone }];
  });
  const tombstones: Registered[] = read.filter(({ isTombstone }) => isTombstone);
  const gone = new Set(tombstones.map(({ volume }) => volume.id));
  const named = read.filter(({ isTombstone }) => !isTombstone);
  return {
    live: named.filter(({ volume }) => !gone.has(volume.id)),
    halfGone: named.filter(({ volume }) => gone.has(volume.id)),
    tombstones,
  };
}

async function observePart(
  { client, objects }: ObserveDeps,
  namespace: string,
  part: Part,
): Promise<Present | undefined> {
  const object = await client.find(resources[part], { namespace, name: VOLUMES_NAME });
  if (object === undefined) return undefined;
  return {
    isOurs: isOurs(object),
    isEnding: object.metadata.deletionTimestamp !== undefined,
    isCurrent: isLike(object, buildObject(part, namespace, objects)),
  };
}
