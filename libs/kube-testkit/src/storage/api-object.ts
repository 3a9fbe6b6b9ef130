import type { KubeObject, ObjectMeta, Resource } from '@sandlot/kube';

/** A stored object. Everything except metadata is opaque JSON. Stored objects are never changed. */
export interface ApiObject extends KubeObject {
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** A JSON object of unknown content. */
export type OpenRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is OpenRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member if it is an object, else an empty object. */
export function recordAt(object: OpenRecord, member: string): OpenRecord {
  const value = object[member];
  return isRecord(value) ? value : {};
}

/** The value at a path such as `['spec', 'nodeName']`, undefined when any step is missing. */
export function valueAt(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, member) => (isRecord(value) ? value[member] : undefined), object);
}

/** Sets the value at a path in `object` and creates missing parents. Undefined removes the value. */
export function setAt(object: OpenRecord, path: readonly string[], value: unknown): void {
  const last = path.at(-1);
  if (last === undefined) return;
  let target = object;
  for (const member of path.slice(0, -1)) {
    const next = recordAt(target, member);
    target[member] = next;
    target = next;
  }
  if (value === undefined) Reflect.deleteProperty(target, last);
  else target[last] = value;
}

/** A shallow copy without some members. */
export function omit<T extends object, K extends keyof T>(object: T, members: readonly K[]): Omit<T, K> {
  const copy = { ...object };
  for (const member of members) Reflect.deleteProperty(copy, member);
  return copy;
}

/** Removes apiVersion and kind. Objects are stored without them because all served versions share one object. */
export function withoutType(object: ApiObject): ApiObject {
  const copy = { ...object };
  Reflect.deleteProperty(copy, 'apiVersion');
  Reflect.deleteProperty(copy, 'kind');
  return copy;
}

/** Converts a typed object to the generic type; {@link asObject} converts it back. */
export function asApiObject(object: KubeObject): ApiObject {
  return object as ApiObject;
}

export function asObject<T extends KubeObject>(_resource: Resource<T>, object: ApiObject): T {
  return object as KubeObject as T;
}

/** Formats a time in whole seconds, like `metav1.Time`. */
export function formatTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
