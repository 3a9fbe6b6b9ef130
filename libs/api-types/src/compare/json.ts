import type { JsonValue } from '@sandlot/kube/objects';

/** A JSON object of unknown members. */
export type Members = Record<string, unknown>;

/** Whether a value is an object with members: not an array, not null. */
export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether Go's `omitempty` drops the value: an empty string, list, map or pointer. Numbers and booleans are values. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isMembers(value) && Object.keys(value).length === 0;
}

/** A copy that is plain JSON; null and undefined members of objects are left out. */
export function findJson(value: unknown): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((entry) => findJson(entry) ?? null);
  if (isMembers(value)) {
    const members = Object.entries(value).map(([name, member]) => [name, findJson(member)] as const);
    return Object.fromEntries(members.filter(([, member]) => member !== undefined && member !== null));
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}
