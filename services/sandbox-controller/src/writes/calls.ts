import { isAlreadyExists, isNotFound, getKey } from '@sandlot/kube';
import type { CallOptions, JsonObject, KubeClient, KubeObject, ObjectKey, Priority, Resource } from '@sandlot/kube';
import type { Collection, Collections } from './collections.ts';

export interface CallDeps {
  readonly client: KubeClient;
  readonly collections: Collections;
  /** Once it aborts, nothing is written. */
  readonly signal: AbortSignal;
  readonly priority: Priority;
}

/** Field owner of every write: docs/reference/names-and-hashes.md#ports. */
const FIELD_MANAGER = 'sandbox-controller';

/** The options of every write. */
export function buildCallOptions({ signal, priority }: CallDeps): CallOptions {
  return { signal, priority, fieldManager: FIELD_MANAGER };
}

/** Creates `object`, or reads the one that has its name; the next decision judges whether that one may serve. */
export async function createOrRead<T extends KubeObject>(
  deps: CallDeps,
  { resource, own }: Collection<T>,
  object: T,
): Promise<T> {
  const { client } = deps;
  try {
    return await own.write(getKey(object), () => client.create(resource, object, buildCallOptions(deps)));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get(resource, buildObjectKey(object), buildCallOptions(deps));
  }
}

/** Creates `object` unless one has its name. That one is not read: the controller may only create objects of this kind. */
export async function createIfAbsent<T extends KubeObject>(
  deps: CallDeps,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  try {
    await deps.client.create(resource, object, buildCallOptions(deps));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** A patch and the object it is for. */
export interface PatchInput {
  readonly object: KubeObject;
  readonly patch: JsonObject;
  readonly subresource?: 'status' | undefined;
}

/** Sends a merge patch. The patch itself names the UID it was decided on. */
export function patchObject<T extends KubeObject>(
  deps: CallDeps,
  { resource, own }: Collection<T>,
  { object, patch, subresource }: PatchInput,
): Promise<T> {
  const options = { ...buildCallOptions(deps), subresource };
  return own.write(getKey(object), () => deps.client.mergePatch(resource, buildObjectKey(object), patch, options));
}

/**
 * Deletes this incarnation of `object`. Returns it as terminating, or undefined when it is already gone. Throws `Conflict`
 * when another incarnation has taken the name: the caller has to observe it first.
 */
export function deleteObject<T extends KubeObject>(
  deps: CallDeps,
  collection: Collection<T>,
  object: T,
): Promise<T | undefined> {
  return deleteIncarnation(deps, collection, { object });
}

export interface DeleteInput<T extends KubeObject> {
  readonly object: T;
  /** Also throws `Conflict` when the object has changed since it was read. */
  readonly isUnchanged?: boolean;
  /** How long a Pod may take to end, in place of what its spec says. */
  readonly gracePeriodSeconds?: number | undefined;
}

/** As {@link deleteObject}, with more to say. */
export async function deleteIncarnation<T extends KubeObject>(
  deps: CallDeps,
  { resource, own }: Collection<T>,
  { object, isUnchanged = false, gracePeriodSeconds }: DeleteInput<T>,
): Promise<T | undefined> {
  const { uid, resourceVersion } = object.metadata;
  const precondition = { uid, resourceVersion: isUnchanged ? resourceVersion : undefined };
  const options = { ...buildCallOptions(deps), ...precondition, gracePeriodSeconds };
  try {
    await deps.client.delete(resource, buildObjectKey(object), options);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  return own.recordDelete(object);
}

/** Namespace and name of `object`. */
export function buildObjectKey({ metadata: { namespace, name = '' } }: KubeObject): ObjectKey {
  return { namespace, name };
}
