import type { ApiObject } from '../storage/api-object.ts';
import { isRecord, valueAt } from '../storage/api-object.ts';
import { CLAIM_PROTECTION } from '../rules/builtin-defaults.ts';
import type { ControlLoop } from './control-loops.ts';
import { targetOf } from '../storage/registry.ts';
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
    const claims = definitions.ofResource({ group: '', plural: 'persistentvolumeclaims' });
    const pods = definitions.ofResource({ group: '', plural: 'pods' });
    if (table !== claims.table && table !== pods.table) return;
    const { namespace } = object.metadata;
    for (const claim of storage.table(claims.table).values()) {
      if (claim.metadata.namespace !== namespace || !isWaiting(claim)) continue;
      const used = [...storage.table(pods.table).values()].some((pod) => uses(pod, claim));
      if (!used) this.#registry.overwrite(targetOf({ definition: claims, object: claim }), withoutFinalizer(claim));
    }
  }
}

function isWaiting({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(CLAIM_PROTECTION) === true;
}

function uses(pod: ApiObject, claim: ApiObject): boolean {
  if (pod.metadata.namespace !== claim.metadata.namespace || valueAt(pod, ['spec', 'nodeName']) === undefined)
    return false;
  return claimNamesOf(pod).includes(claim.metadata.name ?? '');
}

/** Names of the persistent volume claims a pod mounts. */
export function claimNamesOf(pod: unknown): string[] {
  const volumes = valueAt(pod, ['spec', 'volumes']);
  if (!Array.isArray(volumes)) return [];
  return volumes.filter(isRecord).flatMap((volume) => {
    const name = valueAt(volume, ['persistentVolumeClaim', 'claimName']);
    return typeof name === 'string' ? [name] : [];
  });
}

function withoutFinalizer(claim: ApiObject): ApiObject {
  const next = structuredClone(claim);
  const finalizers = (next.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLAIM_PROTECTION);
  if (finalizers.length > 0) next.metadata.finalizers = finalizers;
  else Reflect.deleteProperty(next.metadata, 'finalizers');
  return next;
}
