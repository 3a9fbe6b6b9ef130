import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '@sandlot/kube/objects';
import { isEmpty, isMembers, findJson } from './json.ts';
import type { Members } from './json.ts';

/**
 * A status without its empty members (`""`, `0`, `false`, `[]`, `{}`, null, undefined), as Go writes one. Entries of
 * lists are left whole. Members of the status named in `keep` stay, if they have a value at all.
 */
export function pruneEmpty<T extends object>(status: T, keep: readonly (keyof T & string)[] = []): JsonObject {
  const kept: Record<string, JsonValue> = {};
  const always: readonly string[] = keep;
  for (const [name, member] of Object.entries(status)) {
    const value = isMembers(member) ? pruneEmpty(member) : findJson(member);
    if (value !== undefined && (always.includes(name) || !isZero(value))) kept[name] = value;
  }
  return kept;
}

function isZero(value: unknown): boolean {
  return value === 0 || value === false || isEmpty(value);
}

/**
 * The merge patch (RFC 7386) that turns `before` into `after`, or undefined when they are equal. Absent and
 * empty are the same on both sides, so an empty list never causes a patch. Lists are replaced whole.
 */
export function buildMergePatch(before: object | undefined, after: object): JsonObject | undefined {
  const patch = difference({ ...before }, { ...after });
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function difference(before: Members, after: Members): JsonObject {
  const patch: Record<string, JsonValue> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = findChange(before[name], after[name]);
    if (change !== undefined) patch[name] = change;
  }
  return patch;
}

/** The part of a merge patch for one member; undefined when the patch does not need the member. */
function findChange(before: unknown, after: unknown): JsonValue | undefined {
  if (isEmpty(after)) return isEmpty(before) ? undefined : null;
  if (isMembers(before) && isMembers(after)) {
    const inner = difference(before, after);
    return Object.keys(inner).length === 0 ? undefined : inner;
  }
  const next = findJson(after);
  return isDeepStrictEqual(findJson(before), next) ? undefined : next;
}
