import { isAlreadyExists, isNotFound } from '@sandlot/kube';
import type { CallOptions, JsonObject, KubeClient, KubeObject, ObjectKey, Priority, Resource } from '@sandlot/kube';
import type { RecentWrites } from './recent-writes.ts';

export interface CallDeps {
  readonly client: KubeClient;
  readonly recent: RecentWrites;
  /** Once it aborts, nothing is written. */
  readonly signal: AbortSignal;
  readonly priority: Priority;
}

/** Field owner of every write: docs/reference/names-and-hashes.md#ports. */
const FIELD_MANAGER = 'sandbox-controller';

function callOptions({ signal, priority }: CallDeps): CallOptions {
  return { signal, priority, fieldManager: FIELD_MANAGER };
}

/** Creates `object`, or reads the one that has its name; the next decision judges whether that one may serve. */
export async function createOrRead<T extends KubeObject>(deps: CallDeps, resource: Resource<T>, object: T): Promise<T> {
  const { client, recent } = deps;
  try {
    const created = await client.create(resource, object, callOptions(deps));
    recent.created({ ...created, kind: resource.kind });
    return created;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get(resource, objectKey(object), callOptions(deps));
  }
}

/** A patch and the object it is for. */
export interface PatchInput {
  readonly key: ObjectKey;
  readonly patch: JsonObject;
  readonly subresource?: 'status' | undefined;
}

/** Sends a merge patch. The patch itself names the UID it was decided on. */
export function patchObject<T extends KubeObject>(
  deps: CallDeps,
  resource: Resource<T>,
  { key, patch, subresource }: PatchInput,
): Promise<T> {
  return deps.client.mergePatch(resource, key, patch, { ...callOptions(deps), subresource });
}

/**
 * Deletes this incarnation of `object`. Returns it as terminating, or undefined when it is already gone. Throws `Conflict`
 * when another incarnation has taken the name: the caller has to observe it first.
 */
export async function deleteObject<T extends KubeObject>(
  deps: CallDeps,
  resource: Resource<T>,
  object: T,
): Promise<T | undefined> {
  const { client, recent } = deps;
  const { uid } = object.metadata;
  try {
    await client.delete(resource, objectKey(object), { ...callOptions(deps), ...(uid === undefined ? {} : { uid }) });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  return recent.deleted(object);
}

/** Namespace and name of `object`. */
export function objectKey({ metadata: { namespace, name = '' } }: KubeObject): ObjectKey {
  return { namespace, name };
}
