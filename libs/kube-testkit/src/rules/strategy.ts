import { isDeepStrictEqual } from 'node:util';
import type { ObjectMeta } from '@sandlot/kube';
import type { ApiObject, OpenRecord } from '../storage/api-object.ts';
import { isRecord, recordAt, withoutType } from '../storage/api-object.ts';
import type { Definition } from '../storage/served-resource.ts';

export type Subresource = 'status' | 'scale' | 'resize';

/** Prepares a new object: drops metadata that the server writes, and the status if it is a subresource. */
export function prepareCreate(definition: Definition, object: ApiObject, meta: ObjectMeta): ApiObject {
  const prepared: ApiObject = { ...structuredClone(object), metadata: meta };
  if (definition.status) Reflect.deleteProperty(prepared, 'status');
  definition.defaults(prepared);
  definition.admit(prepared);
  return prepared;
}

/**
 * Applies the part of `wanted` that the endpoint may change to `current`: the main endpoint keeps the status; `/status`
 * keeps the spec, and for custom resources all metadata; `/resize` takes the resources of containers and nothing else. A change of the spec increments the generation.
 */
export function prepareUpdate(
  definition: Definition,
  subresource: Subresource | undefined,
  { wanted, current }: { wanted: ApiObject; current: ApiObject },
): ApiObject {
  if (subresource === 'status') return prepareStatus(definition, wanted, current);
  if (subresource === 'resize') return prepareResize(definition, wanted, current);
  const next: ApiObject = { ...wanted, metadata: keepServerMeta(wanted.metadata, current.metadata) };
  if (definition.status) copyMember(next, current, 'status');
  definition.defaults(next);
  const { generation } = current.metadata;
  if (definition.generation && generation !== undefined && !hasSameContent(definition, next, current)) {
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

/** Containers are matched by name; metadata keeps what it was. */
function prepareResize(definition: Definition, wanted: ApiObject, current: ApiObject): ApiObject {
  const next = structuredClone(current);
  next.metadata.uid = wanted.metadata.uid;
  const asked = listContainers(wanted);
  for (const container of listContainers(next)) {
    const found = asked.find(({ name }) => name === container['name']);
    if (found !== undefined) container['resources'] = structuredClone(found['resources'] ?? {});
  }
  const { generation } = current.metadata;
  if (generation !== undefined && !hasSameContent(definition, next, current)) next.metadata.generation = generation + 1;
  return next;
}

function listContainers(pod: ApiObject): OpenRecord[] {
  const { containers } = recordAt(pod, 'spec');
  return Array.isArray(containers) ? containers.filter(isRecord) : [];
}

function copyMember(target: ApiObject, source: ApiObject, member: string): void {
  if (source[member] === undefined) Reflect.deleteProperty(target, member);
  else target[member] = structuredClone(source[member]);
}

/** Restores metadata that clients cannot change. Validation refuses deletion fields on an object that is not deleted. */
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

function hasSameContent(definition: Definition, next: ApiObject, current: ApiObject): boolean {
  const content = (object: ApiObject): object =>
    definition.builtin ? { spec: object['spec'] } : { ...withoutType(object), metadata: undefined };
  return isDeepStrictEqual(content(next), content(current));
}

/** Whether nothing keeps the deleted object any more, neither finalizers nor a grace period. */
export function canCompleteDeletion({
  deletionTimestamp,
  deletionGracePeriodSeconds,
  finalizers,
}: ObjectMeta): boolean {
  return deletionTimestamp !== undefined && (deletionGracePeriodSeconds ?? 0) === 0 && (finalizers ?? []).length === 0;
}
