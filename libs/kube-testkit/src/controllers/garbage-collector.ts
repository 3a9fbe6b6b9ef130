import type { Clock } from '@sandlot/std';
import type { OwnerReference } from '@sandlot/kube';
import type { ApiObject } from '../storage/api-object.ts';
import { ApiError } from '../server/api-error.ts';
import type { DeleteOptions } from '../rules/deletion.ts';
import { FOREGROUND, ORPHAN, deleteObject } from '../rules/deletion.ts';
import type { ControlLoop } from './control-loops.ts';
import { getTarget } from '../storage/registry.ts';
import type { Located, Registry } from '../storage/registry.ts';
import type { Change } from '../storage/storage.ts';

/** Deletes dependents of deleted owners, and handles the finalizers of foreground and orphan deletion. */
export class GarbageCollector implements ControlLoop {
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #byOwner = new Map<string, Set<string>>();
  readonly #byUid = new Map<string, { table: string; key: string }>();

  constructor(registry: Registry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  observe(change: Change): void {
    const { uid } = change.object.metadata;
    if (uid === undefined) return;
    for (const owner of change.previous?.metadata.ownerReferences ?? []) this.#byOwner.get(owner.uid)?.delete(uid);
    if (change.type === 'DELETED') this.#byUid.delete(uid);
    else this.#index(uid, change);
  }

  react({ type, object }: Change): void {
    const { uid = '' } = object.metadata;
    if (type === 'DELETED') {
      for (const dependent of this.#listDependents(uid)) this.#collectDependent(dependent);
      this.#reviewDeletingOwners(object);
      return;
    }
    const current = this.#locate(uid);
    if (current === undefined) return;
    this.#collectDependent(current);
    // The collection may have changed or removed the object.
    const left = this.#locate(uid);
    if (left !== undefined) this.#reviewDeletion(left);
  }

  #index(uid: string, { table, key, object }: Change): void {
    this.#byUid.set(uid, { table, key });
    for (const owner of object.metadata.ownerReferences ?? []) {
      const dependents = this.#byOwner.get(owner.uid) ?? new Set<string>();
      this.#byOwner.set(owner.uid, dependents.add(uid));
    }
  }

  #locate(uid: string): Located | undefined {
    const place = this.#byUid.get(uid);
    if (place === undefined) return undefined;
    const definition = this.#registry.definitions.ofTable(place.table);
    const object = this.#registry.storage.get(place.table, place.key);
    return definition === undefined || object === undefined ? undefined : { definition, object };
  }

  #listDependents(uid: string): Located[] {
    return [...(this.#byOwner.get(uid) ?? [])].flatMap((dependent) => this.#locate(dependent) ?? []);
  }

  /** Whether the owner exists. Owners of kinds that this server does not serve count as existing. */
  #isThere(owner: OwnerReference, namespace: string | undefined): boolean {
    const [group = ''] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/', 1) : [''];
    if (this.#registry.definitions.ofKind(group, owner.kind) === undefined) return true;
    const found = this.#locate(owner.uid);
    if (found === undefined || found.object.metadata.name !== owner.name) return false;
    return !found.definition.namespaced || found.object.metadata.namespace === namespace;
  }

  /** Deletes an object when all its owners are gone. When some remain, removes the references to the others. */
  #collectDependent({ definition, object }: Located): void {
    const { ownerReferences = [], namespace, deletionTimestamp, uid = '' } = object.metadata;
    const present = ownerReferences.filter((owner) => this.#isThere(owner, namespace));
    if (ownerReferences.length === present.length || deletionTimestamp !== undefined) return;
    if (present.length === 0) this.#delete({ definition, object }, this.#policyFor(object, uid));
    else this.#setMetadata({ definition, object }, { ownerReferences: present });
  }

  #policyFor({ metadata }: ApiObject, uid: string): DeleteOptions['propagationPolicy'] {
    if (metadata.finalizers?.includes(ORPHAN) === true) return 'Orphan';
    return metadata.finalizers?.includes(FOREGROUND) === true && this.#listDependents(uid).length > 0
      ? 'Foreground'
      : 'Background';
  }

  /** Continues a deletion that waits for the garbage collector. */
  #reviewDeletion(owner: Located): void {
    const { metadata } = owner.object;
    if (metadata.deletionTimestamp === undefined) return;
    if (metadata.finalizers?.includes(ORPHAN) === true) this.#orphan(owner);
    else if (metadata.finalizers?.includes(FOREGROUND) === true) this.#deleteForeground(owner);
  }

  #orphan(owner: Located): void {
    const { uid = '' } = owner.object.metadata;
    for (const dependent of this.#listDependents(uid)) {
      const left = (dependent.object.metadata.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
      this.#setMetadata(dependent, { ownerReferences: left });
    }
    this.#dropFinalizer(owner, ORPHAN);
  }

  /** Deletes the dependents, and the owner once no dependent blocks it. */
  #deleteForeground(owner: Located): void {
    const { uid = '' } = owner.object.metadata;
    const dependents = this.#listDependents(uid);
    for (const dependent of dependents) {
      const { metadata } = dependent.object;
      const others = (metadata.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
      const keep = others.some((reference) => this.#isThere(reference, metadata.namespace));
      if (keep) this.#setMetadata(dependent, { ownerReferences: others });
      else if (metadata.deletionTimestamp === undefined) this.#delete(dependent, this.#getCascade(dependent));
    }
    const blocked = this.#listDependents(uid).some(({ object }) =>
      object.metadata.ownerReferences?.some(
        (reference) => reference.uid === uid && reference.blockOwnerDeletion === true,
      ),
    );
    if (!blocked) this.#dropFinalizer(owner, FOREGROUND);
  }

  #getCascade({ object }: Located): DeleteOptions['propagationPolicy'] {
    return this.#listDependents(object.metadata.uid ?? '').length > 0 ? 'Foreground' : 'Background';
  }

  /** Reviews the owners that may have waited for a deleted dependent. */
  #reviewDeletingOwners({ metadata }: ApiObject): void {
    for (const { uid } of metadata.ownerReferences ?? []) {
      const owner = this.#locate(uid);
      if (owner !== undefined) this.#reviewDeletion(owner);
    }
  }

  #delete(item: Located, propagationPolicy: DeleteOptions['propagationPolicy']): void {
    try {
      deleteObject(this.#registry, getTarget(item), { propagationPolicy, clock: this.#clock });
    } catch (error) {
      // An earlier change in the queue has already deleted the object.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  #dropFinalizer(item: Located, finalizer: string): void {
    const finalizers = (item.object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
    this.#setMetadata(item, { finalizers });
  }

  /** Removes empty lists, as Go omits them. */
  #setMetadata(item: Located, change: Pick<ApiObject['metadata'], 'finalizers' | 'ownerReferences'>): void {
    const next = structuredClone(item.object);
    for (const [field, list] of Object.entries(change)) {
      if (Array.isArray(list) && list.length > 0) Object.assign(next.metadata, { [field]: list });
      else Reflect.deleteProperty(next.metadata, field);
    }
    this.#registry.overwrite(getTarget(item), next);
  }
}
