import type { ApiObject } from '../storage/api-object.ts';
import { isRecord, valueAt } from '../storage/api-object.ts';
import { DISK_PROTECTION } from '../rules/builtin-defaults.ts';
import type { ControlLoop } from './control-loops.ts';
import { getTarget } from '../storage/registry.ts';
import type { Registry } from '../storage/registry.ts';
import type { Change } from '../storage/storage.ts';

/** Removes the finalizer of a deleted PersistentVolumeClaim once no scheduled pod names it. */
export class VolumeProtection implements ControlLoop {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  react({ table, object }: Change): void {
    const { definitions, storage } = this.#registry;
    const disks = definitions.ofResource({ group: '', plural: 'persistentvolumeclaims' });
    const pods = definitions.ofResource({ group: '', plural: 'pods' });
    if (table !== disks.table && table !== pods.table) return;
    const { namespace } = object.metadata;
    for (const disk of storage.table(disks.table).values()) {
      if (disk.metadata.namespace !== namespace || !isWaiting(disk)) continue;
      const used = [...storage.table(pods.table).values()].some((pod) => uses(pod, disk));
      if (!used) this.#registry.overwrite(getTarget({ definition: disks, object: disk }), withoutFinalizer(disk));
    }
  }
}

function isWaiting({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(DISK_PROTECTION) === true;
}

function uses(pod: ApiObject, disk: ApiObject): boolean {
  if (pod.metadata.namespace !== disk.metadata.namespace || valueAt(pod, ['spec', 'nodeName']) === undefined)
    return false;
  return listDiskNames(pod).includes(disk.metadata.name ?? '');
}

/** Names of the PersistentVolumeClaims that a pod mounts. */
export function listDiskNames(pod: unknown): string[] {
  const volumes = valueAt(pod, ['spec', 'volumes']);
  if (!Array.isArray(volumes)) return [];
  return volumes.filter(isRecord).flatMap((volume) => {
    const name = valueAt(volume, ['persistentVolumeClaim', 'claimName']);
    return typeof name === 'string' ? [name] : [];
  });
}

function withoutFinalizer(disk: ApiObject): ApiObject {
  const next = structuredClone(disk);
  const finalizers = (next.metadata.finalizers ?? []).filter((finalizer) => finalizer !== DISK_PROTECTION);
  if (finalizers.length > 0) next.metadata.finalizers = finalizers;
  else Reflect.deleteProperty(next.metadata, 'finalizers');
  return next;
}
