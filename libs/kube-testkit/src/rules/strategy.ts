import { isDeepStrictEqual } from 'node:util';
import type { ObjectMeta } from '@sandlot/kube';
import type { ApiObject } from '../storage/api-object.ts';
import { withoutType } from '../storage/api-object.ts';
import type { Definition } from '../storage/served-resource.ts';

export type Subresource = 'status' | 'scale';

/** The object a client may create: no status where that is a subresource, no server-written metadata. */
export function prepareCreate(definition: Definition, object: ApiObject, meta: ObjectMeta): ApiObject {
  const prepared: ApiObject = { ...structuredClone(object), metadata: meta };
  if (definition.status) Reflect.deleteProperty(prepared, 'status');
  definition.defaults(prepared);
  definition.admit(prepared);
  return prepared;
}

/**
 * The part of `wanted` this endpoint may change, on top of `current`: the main endpoint leaves status alone, `/status`
 * leaves spec alone, and for custom resources all metadata too. Spec changes count up the generation.
 */
export function prepareUpdate(
  definition: Definition,
  subresource: Subresource | undefined,
  { wanted, current }: { wanted: ApiObject; current: ApiObject },
): ApiObject {
  if (subresource === 'status') return prepareStatus(definition, wanted, current);
  const next: ApiObject = { ...wanted, metadata: keepServerMeta(wanted.metadata, current.metadata) };
  if (definition.status) copyMember(next, current, 'status');
  definition.defaults(next);
  const { generation } = current.metadata;
  if (definition.generation && generation !== undefined && !sameContent(definition, next, current)) {
    next.metadata.generation = generation + 1;
  }
  return next;
}

function prepareStatus(definition: Definition, wanted: ApiObject, current: ApiObject): ApiObject {
  const next = structuredClone(current);
  copyMember(next, wanted, 'status');
  if (!definition.builtin) return next;
  const { ownerReferences } = current.metadata;
  next.metadata = {
    ...keepServerMeta(wanted.metadata, current.metadata),
    ...(ownerReferences ? { ownerReferences } : {}),
  };
  return next;
}

function copyMember(target: ApiObject, source: ApiObject, member: string): void {
  if (source[member] === undefined) Reflect.deleteProperty(target, member);
  else target[member] = structuredClone(source[member]);
}

/** What clients try to change without effect; setting the deletion fields of a live object is refused by validation. */
function keepServerMeta(meta: ObjectMeta, current: ObjectMeta): ObjectMeta {
  const kept: ObjectMeta = { ...meta };
  kept.uid = meta.uid === undefined || meta.uid === '' ? current.uid : meta.uid;
  kept.resourceVersion = current.resourceVersion;
  for (const field of ['creationTimestamp', 'generation', 'managedFields'] as const) {
    Reflect.deleteProperty(kept, field);
    if (current[field] !== undefined) Object.assign(kept, { [field]: current[field] });
  }
  if (current.deletionTimestamp !== undefined) kept.deletionTimestamp = current.deletionTimestamp;
  if (current.deletionGracePeriodSeconds !== undefined) {
    kept.deletionGracePeriodSeconds ??= current.deletionGracePeriodSeconds;
  }
  return kept;
}

function sameContent(definition: Definition, next: ApiObject, current: ApiObject): boolean {
  const content = (object: ApiObject): object =>
    definition.builtin ? { spec: object['spec'] } : { ...withoutType(object), metadata: undefined };
  return isDeepStrictEqual(content(next), content(current));
}

/** Whether a write takes away the last thing that kept a deleted object. */
export function completesDeletion({ deletionTimestamp, deletionGracePeriodSeconds, finalizers }: ObjectMeta): boolean {
  return deletionTimestamp !== undefined && (deletionGracePeriodSeconds ?? 0) === 0 && (finalizers ?? []).length === 0;
}
