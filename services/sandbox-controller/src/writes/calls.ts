import { isAlreadyExists, isNotFound } from '@sandlot/kube';
import type { CallOptions, JsonObject, KubeClient, KubeObject, ObjectKey, Priority, Resource } from '@sandlot/kube';
import type { RecentWrites } from './recent-writes.ts';

/** What the calls need. */
export interface CallDeps {
  readonly client: KubeClient;
  readonly recent: RecentWrites;
  /** After it aborts nothing is written any more. */
  readonly signal: AbortSignal;
  readonly priority: Priority;
}

/** Every write names the owner of its fields as upstream does (API contract, Service). */
function callOptions({ signal, priority }: CallDeps): CallOptions {
  return { signal, priority, fieldManager: 'sandbox-controller' };
}

/** Creates `object`, or reads what has its name: whether that may serve is for the next decision. */
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

/** Sends a merge patch; the patch itself names the incarnation it was decided on. */
export function patchObject<T extends KubeObject>(
  deps: CallDeps,
  resource: Resource<T>,
  { key, patch, subresource }: PatchInput,
): Promise<T> {
  return deps.client.mergePatch(resource, key, patch, { ...callOptions(deps), subresource });
}

/**
 * Deletes this incarnation of `object`. Returns it as terminating, or undefined when it is known to be gone, which is as
 * good. A `Conflict` means that the name has been taken by another incarnation, which has to be looked at first.
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

/** Where `object` lives. */
export function objectKey({ metadata: { namespace, name = '' } }: KubeObject): ObjectKey {
  return { namespace, name };
}
