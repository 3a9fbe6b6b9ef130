import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../server/api-error.ts';
import type { ApiObject, OpenRecord } from '../storage/api-object.ts';
import { isRecord, setAt, valueAt } from '../storage/api-object.ts';
import type { FieldOwner, FieldSet, FieldsEntry } from './field-sets.ts';
import {
  difference,
  listEntries,
  buildFields,
  formatPath,
  isOwnedBy,
  getLeaves,
  listSteps,
  union,
  setOwnedFields,
  removeFields,
} from './field-sets.ts';

export interface Applied {
  readonly object: ApiObject;
  readonly managedFields: readonly FieldsEntry[];
}

export interface ApplyRequest {
  readonly live: ApiObject | undefined;
  /** The full configuration of the manager. Fields it applied before and leaves out now are removed. */
  readonly config: ApiObject;
  readonly owner: FieldOwner;
  readonly force: boolean;
}

/** Server-side apply by leaf field. A list is one leaf. Throws a Conflict when another manager owns a changed field. */
export function applyServerSide({ live, config, owner, force }: ApplyRequest): Applied {
  const wanted = getLeaves(config);
  const entries = listEntries(live);
  const current = live === undefined ? new Map<string, unknown>() : getLeaves(live);
  const changed = new Set(
    [...wanted].filter(([path, value]) => !isDeepStrictEqual(value, current.get(path))).map(([path]) => path),
  );
  const others = entries.filter((entry) => !isOwnedBy(entry, owner));
  if (!force) refuseConflicts(others, changed);
  const object = mergeInto(live ?? config, config);
  removeAbandoned(object, entries, { owner, wanted: new Set(wanted.keys()) });
  const kept = removeFields(entries, changed, (entry) => isOwnedBy(entry, owner));
  return { object, managedFields: setOwnedFields(kept, owner, new Set(wanted.keys())) };
}

/** Merges objects member by member and replaces any other value. */
function mergeInto(live: ApiObject, config: ApiObject): ApiObject {
  return mergeRecords(live, config) as ApiObject;
}

function mergeRecords(live: OpenRecord, config: OpenRecord): OpenRecord {
  const merged = { ...live };
  for (const [member, value] of Object.entries(config)) {
    const present = merged[member];
    merged[member] = isRecord(value) && isRecord(present) ? mergeRecords(present, value) : value;
  }
  return structuredClone(merged);
}

/** Removes fields that only this manager owned and no longer applies. */
function removeAbandoned(
  object: ApiObject,
  entries: readonly FieldsEntry[],
  { owner, wanted }: { owner: FieldOwner; wanted: FieldSet },
): void {
  const mine = entries.find((entry) => isOwnedBy(entry, owner));
  if (mine === undefined) return;
  const sharedWith = new Set(entries.filter((entry) => entry !== mine).flatMap((entry) => [...buildFields(entry)]));
  for (const path of difference(buildFields(mine), union(wanted, sharedWith))) removeLeaf(object, listSteps(path));
}

/** Removes a leaf, and its parents if they become empty. */
function removeLeaf(object: ApiObject, path: readonly string[]): void {
  setAt(object, path, undefined);
  const parent = path.slice(0, -1);
  const left = valueAt(object, parent);
  if (parent.length > 1 && isRecord(left) && Object.keys(left).length === 0) removeLeaf(object, parent);
}

function refuseConflicts(others: readonly FieldsEntry[], changed: FieldSet): void {
  const found = others.flatMap((entry) =>
    [...buildFields(entry)]
      .filter((path) => changed.has(path))
      .map((path) => ({ who: describeOwner(entry), field: formatPath(path) })),
  );
  const [first] = found;
  if (first === undefined) return;
  const causes = found.map(({ who, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${who}`,
    field,
  }));
  const message =
    found.length === 1
      ? `Apply failed with 1 conflict: conflict with ${first.who}: ${first.field}`
      : `Apply failed with ${found.length} conflicts: ${describeConflicts(found)}`;
  throw new ApiError({ code: 409, reason: 'Conflict', message, details: { causes } });
}

function describeConflicts(found: readonly { who: string; field: string }[]): string {
  const byOwner = Map.groupBy(found, ({ who }) => who);
  return [...byOwner]
    .map(([who, fields]) => `conflicts with ${who}:\n${fields.map(({ field }) => `- ${field}`).join('\n')}`)
    .join('\n');
}

function describeOwner({ manager, operation, apiVersion, subresource, time }: FieldsEntry): string {
  const endpoint = subresource === undefined ? '' : ` with subresource "${subresource}"`;
  return operation === 'Apply' ? `"${manager}"${endpoint}` : `"${manager}"${endpoint} using ${apiVersion} at ${time}`;
}
