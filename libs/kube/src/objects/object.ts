/** A value that survives JSON: what a patch may contain. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
/** In a merge patch a `null` member deletes; `undefined` members are left out when the patch is sent. */
export interface JsonObject {
  readonly [member: string]: JsonValue | undefined;
}

/** One operation of RFC 6902. A leading `test` guards the whole patch. */
export type JsonPatchOp =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean | undefined;
  blockOwnerDeletion?: boolean | undefined;
}

/** Who owns which fields, as server-side apply records it. Large: caches drop it. */
export interface ManagedFieldsEntry {
  manager?: string | undefined;
  operation?: 'Apply' | 'Update' | undefined;
  subresource?: string | undefined;
  apiVersion?: string | undefined;
  time?: string | undefined;
  fieldsType?: string | undefined;
  fieldsV1?: Record<string, unknown> | undefined;
}

/** `uid` is opaque. Compare `resourceVersion` for equality; only a watch may order it (`isEarlierVersion`). */
export interface ObjectMeta {
  name?: string | undefined;
  generateName?: string | undefined;
  namespace?: string | undefined;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  generation?: number | undefined;
  creationTimestamp?: string | undefined;
  deletionTimestamp?: string | undefined;
  deletionGracePeriodSeconds?: number | undefined;
  labels?: Record<string, string> | undefined;
  annotations?: Record<string, string> | undefined;
  ownerReferences?: OwnerReference[] | undefined;
  finalizers?: string[] | undefined;
  managedFields?: ManagedFieldsEntry[] | undefined;
}

export interface KubeObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: ObjectMeta;
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string | undefined;
  message?: string | undefined;
  lastTransitionTime?: string | undefined;
  observedGeneration?: number | undefined;
}

/** Where a kind of object lives in the API, and (at compile time only) what its objects look like. */
export interface Resource<T extends KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never present at run time; carries `T`. */
  readonly __object?: T;
}

export function defineResource<T extends KubeObject>(resource: Omit<Resource<T>, '__object'>): Resource<T> {
  return Object.freeze({ ...resource });
}

/** The `apiVersion` of objects of this resource: `v1`, `apps/v1`. */
export function getApiVersion(resource: Resource<KubeObject>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** `namespace/name`, or `name` alone for cluster-scoped objects; the key of stores and queues. */
export function getKey(object: KubeObject): string {
  const { namespace, name = '' } = object.metadata;
  return formatKey({ namespace, name });
}

/** The inverse of {@link parseKey}: cluster-scoped keys have no slash. */
export function formatKey({ namespace, name }: ObjectKey): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** Takes apart what {@link getKey} made; names and namespaces never contain a slash. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf('/');
  return slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The owner that manages this object, if one does; at most one reference has `controller: true`. */
export function findController(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/**
 * Whether `version` comes before `than` in the same collection. Kubernetes sends the events of a watch in the order of their
 * versions, and versions are decimal numbers in every API server that stores in etcd. False for any other version.
 */
export function isEarlierVersion(version: string, than: string): boolean {
  if (!DECIMAL.test(version) || !DECIMAL.test(than)) return false;
  return version.length === than.length ? version < than : version.length < than.length;
}

/** Without leading zeros, so that a longer number is the greater one. */
const DECIMAL = /^[1-9]\d*$/;
