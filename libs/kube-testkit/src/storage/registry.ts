import { isDeepStrictEqual } from 'node:util';
import type { Clock, Random } from '@sandlot/std';
import type { ObjectMeta } from '@sandlot/kube';
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  internalError,
  invalid,
  notFound,
} from '../server/api-error.ts';
import type { ApiObject } from './api-object.ts';
import { omit, formatTimestamp, valueAt, withoutType } from './api-object.ts';
import { invalidValue } from '../rules/builtin-rules.ts';
import { present, formatStorageKey } from './definitions.ts';
import type { Definitions } from './definitions.ts';
import type { Definition } from './served-resource.ts';
import type { FieldOwner, FieldsEntry } from '../patches/field-sets.ts';
import { trackUpdate } from '../patches/field-sets.ts';
import { generateName, createUuid } from './identity.ts';
import { validateMetaUpdate, validateNewMeta } from '../rules/metadata-rules.ts';
import { canCompleteDeletion, prepareCreate, prepareUpdate } from '../rules/strategy.ts';
import type { Subresource } from '../rules/strategy.ts';
import type { Storage } from './storage.ts';

/** The object that a request addresses. */
export interface Target {
  readonly definition: Definition;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource?: Subresource | undefined;
}

/** A stored object and its definition. */
export interface Located {
  readonly definition: Definition;
  readonly object: ApiObject;
}

export function getTarget({ definition, object }: Located): Target {
  const [version = ''] = definition.versions;
  return { definition, version, namespace: object.metadata.namespace, name: object.metadata.name ?? '' };
}

export interface WriteOptions {
  /** Recorded in managedFields. */
  readonly manager: string;
  /** Runs all steps except the commit. */
  readonly dryRun?: boolean | undefined;
}

/** The object that a writer wants to store. Only server-side apply sets `managedFields`. */
export interface Wanted {
  readonly object: ApiObject;
  readonly managedFields?: readonly FieldsEntry[] | undefined;
}

export interface RegistryOptions {
  readonly definitions: Definitions;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether to refuse objects in namespaces that do not exist. */
  readonly strictNamespaces: boolean;
}

/** The rules for creating and changing objects in {@link Storage}. Every write is one synchronous step. */
export class Registry {
  readonly storage: Storage;
  readonly definitions: Definitions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #strictNamespaces: boolean;

  constructor({ definitions, storage, clock, random, strictNamespaces }: RegistryOptions) {
    this.definitions = definitions;
    this.storage = storage;
    this.#clock = clock;
    this.#random = random;
    this.#strictNamespaces = strictNamespaces;
  }

  /** Returns the stored object. Throws NotFound. */
  read({ definition, namespace, name }: Target): ApiObject {
    const found = this.storage.get(definition.table, formatStorageKey(definition, namespace, name));
    if (found === undefined) throw notFound(definition, name);
    return found;
  }

  find({ definition, namespace, name }: Target): ApiObject | undefined {
    return this.storage.get(definition.table, formatStorageKey(definition, namespace, name));
  }

  now(): string {
    return formatTimestamp(this.#clock.now());
  }

  owner(target: Target, manager: string, operation: 'Apply' | 'Update'): FieldOwner {
    const { definition, version, subresource } = target;
    const apiVersion = definition.group === '' ? version : `${definition.group}/${version}`;
    return { manager, operation, apiVersion, time: this.now(), subresource };
  }

  create(target: Target, wanted: Wanted, { manager, dryRun }: WriteOptions): ApiObject {
    const { definition, namespace } = target;
    checkNamespaceOf(wanted.object, namespace);
    this.#checkNamespace(definition, target);
    if ((wanted.object.metadata.resourceVersion ?? '') !== '') {
      throw internalError('resourceVersion should not be set on objects to be created');
    }
    const object = prepareCreate(definition, withoutType(wanted.object), this.#newMeta(target, wanted.object.metadata));
    const name = object.metadata.name ?? '';
    const key = formatStorageKey(definition, namespace, name);
    const causes = [...validateNewMeta(object.metadata), ...definition.validate(object, undefined)];
    if (causes.length > 0) throw invalid(definition, name, causes);
    if (this.storage.get(definition.table, key) !== undefined) throw alreadyExists(definition, name);
    setManagedFields(
      object,
      wanted.managedFields ?? trackUpdate(undefined, object, this.owner(target, manager, 'Update')),
    );
    return dryRun === true ? object : this.storage.put(definition.table, key, object);
  }

  /**
   * Reads, changes, checks and commits an object. If the result of `change` has a resourceVersion, it is a precondition.
   * A write without changes commits nothing. A write that removes the last finalizer of a deleted object removes it.
   */
  update(target: Target, change: (current: ApiObject) => Wanted, { manager, dryRun }: WriteOptions): ApiObject {
    const { definition, subresource } = target;
    const current = this.read(target);
    const wanted = change(this.present(target, structuredClone(current)));
    checkType(target, wanted.object, this.present(target, current));
    checkIdentity(target, wanted.object, current);
    const next = prepareUpdate(definition, subresource, { wanted: withoutType(wanted.object), current });
    // What else the real server checks of a resize is missing here: the QoS class, quotas, support of the node.
    const ofKind = subresource === 'resize' ? [] : definition.validate(next, current);
    const causes = [...validateMetaUpdate(next.metadata, current.metadata), ...ofKind];
    if (causes.length > 0) throw invalid(definition, target.name, causes);
    setManagedFields(next, wanted.managedFields ?? trackUpdate(current, next, this.owner(target, manager, 'Update')));
    if (isDeepStrictEqual(next, current)) return current;
    if (dryRun === true) return next;
    return this.#commit(target, next);
  }

  /** Replaces an object without rules except for deletion. For the server's own controllers and for tests. */
  overwrite(target: Target, object: ApiObject): ApiObject {
    return this.#commit(target, object);
  }

  /** Removes the object; see `rules/deletion.ts`. */
  remove(target: Target): ApiObject | undefined {
    return this.storage.remove(
      target.definition.table,
      formatStorageKey(target.definition, target.namespace, target.name),
    );
  }

  newUid(): string {
    return createUuid(this.#random);
  }

  /** The object as seen by clients of the target's version. */
  present({ definition, version }: Pick<Target, 'definition' | 'version'>, object: ApiObject): ApiObject {
    return present(definition, version, object);
  }

  #commit(target: Target, next: ApiObject): ApiObject {
    const { definition, namespace, name } = target;
    if (canCompleteDeletion(next.metadata) && !isHeldNamespace(definition, next)) return this.remove(target) ?? next;
    return this.storage.put(definition.table, formatStorageKey(definition, namespace, name), next);
  }

  #newMeta({ definition, namespace }: Target, meta: ObjectMeta): ObjectMeta {
    const { generateName: prefix, name } = meta;
    const generated = (name ?? '') === '' && prefix !== undefined && prefix !== '';
    const kept = omit(structuredClone(meta), ['resourceVersion', 'deletionTimestamp', 'deletionGracePeriodSeconds']);
    return {
      ...kept,
      ...(generated ? { name: generateName(prefix, this.#random) } : {}),
      ...(definition.namespaced ? { namespace } : {}),
      uid: this.newUid(),
      creationTimestamp: this.now(),
      ...(definition.generation ? { generation: 1 } : {}),
    };
  }

  #checkNamespace(definition: Definition, { namespace, name }: Target): void {
    if (!definition.namespaced || namespace === undefined) return;
    const namespaces = this.definitions.ofResource({ group: '', plural: 'namespaces' });
    const found = this.storage.get(namespaces.table, namespace);
    if (found === undefined && this.#strictNamespaces) throw notFound(namespaces, namespace);
    if (found?.metadata.deletionTimestamp === undefined) return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    throw forbidden(definition, name, why);
  }
}

/** Whether the finalizer in the spec still keeps the namespace. */
export function isHeldNamespace({ kind, builtin }: Definition, object: ApiObject): boolean {
  const held = valueAt(object, ['spec', 'finalizers']);
  return builtin && kind === 'Namespace' && Array.isArray(held) && held.length > 0;
}

function setManagedFields(object: ApiObject, entries: readonly FieldsEntry[]): void {
  if (entries.length === 0) Reflect.deleteProperty(object.metadata, 'managedFields');
  else object.metadata.managedFields = [...entries];
}

function checkNamespaceOf(object: ApiObject, namespace: string | undefined): void {
  const claimed = object.metadata.namespace ?? '';
  if (claimed === '' || claimed === (namespace ?? '')) return;
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** The body must match the object and version in the URL. */
function checkIdentity({ definition, name, namespace }: Target, object: ApiObject, current: ApiObject): void {
  const { metadata } = object;
  if (metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name ?? ''}) does not match the name on the URL (${name})`);
  }
  checkNamespaceOf(object, namespace);
  const claimed = metadata.resourceVersion ?? '';
  if (claimed === '' && !definition.builtin) {
    const cause = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update');
    throw invalid({ ...definition, kind: definition.plural }, name, [cause]);
  }
  if (claimed !== '' && claimed !== current.metadata.resourceVersion) throw conflict(definition, name);
}

/** A patch must not change the kind or version. */
function checkType({ definition, name }: Target, object: ApiObject, { apiVersion, kind }: ApiObject): void {
  const causes = [
    ...(object.apiVersion === apiVersion
      ? []
      : [invalidValue('apiVersion', object.apiVersion, `must be ${apiVersion ?? ''}`)]),
    ...(object.kind === kind ? [] : [invalidValue('kind', object.kind, `must be ${kind ?? ''}`)]),
  ];
  if (causes.length > 0) throw invalid(definition, name, causes);
}
