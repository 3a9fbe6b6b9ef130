import { isDeepStrictEqual } from 'node:util';
import type { ManagedFieldsEntry } from '@sandlot/kube';
import type { ApiObject, OpenRecord } from '../storage/api-object.ts';
import { isRecord, withoutType } from '../storage/api-object.ts';

/** An entry of `metadata.managedFields`, including the parts that only the server reads. */
export interface FieldsEntry extends ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: OpenRecord;
  readonly subresource?: string;
}

/** The identity of a writer in managedFields. A manager owns a separate set per operation and subresource. */
export interface FieldOwner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly subresource: string | undefined;
}

/** Paths of leaves, with steps joined by NUL. A list is one leaf. */
export type FieldSet = ReadonlySet<string>;

export function difference(left: FieldSet, right: FieldSet): Set<string> {
  return new Set([...left].filter((path) => !right.has(path)));
}

export function union(left: FieldSet, right: FieldSet): Set<string> {
  return new Set([...left, ...right]);
}

const SEPARATOR = '\0';

/** Fields of metadata that the server writes and no manager owns. */
const SERVER_METADATA = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'generateName',
]);

/** The leaves of an object and their values, without fields that no manager can own. */
export function getLeaves(object: ApiObject): ReadonlyMap<string, unknown> {
  const { metadata, ...rest } = withoutType(object);
  const owned = Object.fromEntries(Object.entries(metadata).filter(([field]) => !SERVER_METADATA.has(field)));
  const leaves = new Map<string, unknown>();
  collect({ ...rest, ...(Object.keys(owned).length === 0 ? {} : { metadata: owned }) }, '', leaves);
  return leaves;
}

function collect(record: OpenRecord, prefix: string, leaves: Map<string, unknown>): void {
  for (const [member, value] of Object.entries(record)) {
    const path = prefix === '' ? member : prefix + SEPARATOR + member;
    if (isRecord(value) && Object.keys(value).length > 0) collect(value, path, leaves);
    else if (value !== undefined) leaves.set(path, value);
  }
}

/** The steps of a path of a {@link FieldSet}. */
export function listSteps(path: string): string[] {
  return path.split(SEPARATOR);
}

/** Formats a path as in messages of conflicts: `.spec.replicas`. */
export function formatPath(path: string): string {
  return `.${listSteps(path).join('.')}`;
}

function encode(set: FieldSet): OpenRecord {
  const fields: OpenRecord = {};
  for (const path of set) {
    let level = fields;
    for (const step of listSteps(path)) {
      const next = level[`f:${step}`];
      const deeper = isRecord(next) ? next : {};
      level[`f:${step}`] = deeper;
      level = deeper;
    }
  }
  return fields;
}

function decode(fields: OpenRecord, prefix: readonly string[] = []): string[] {
  return Object.entries(fields).flatMap(([step, deeper]) => {
    const path = [...prefix, step.slice(2)];
    return isRecord(deeper) && Object.keys(deeper).length > 0 ? decode(deeper, path) : [path.join(SEPARATOR)];
  });
}

export function listEntries(object: ApiObject | undefined): readonly FieldsEntry[] {
  return (object?.metadata.managedFields ?? []) as readonly FieldsEntry[];
}

export function buildFields(entry: FieldsEntry): FieldSet {
  return new Set(decode(entry.fieldsV1));
}

export function isOwnedBy(entry: FieldsEntry, owner: FieldOwner): boolean {
  return (
    entry.manager === owner.manager && entry.operation === owner.operation && entry.subresource === owner.subresource
  );
}

/** Makes `owner` own exactly these fields. Its time changes only with the set. Drops an owner without fields. */
export function setOwnedFields(entries: readonly FieldsEntry[], owner: FieldOwner, set: FieldSet): FieldsEntry[] {
  const fieldsV1 = encode(set);
  const mine = entries.find((entry) => isOwnedBy(entry, owner));
  if (mine !== undefined && isDeepStrictEqual(mine.fieldsV1, fieldsV1)) return [...entries];
  const { subresource, ...identity } = owner;
  const entry: FieldsEntry = {
    ...identity,
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(subresource === undefined ? {} : { subresource }),
  };
  const others = entries.filter((other) => !isOwnedBy(other, owner));
  return set.size === 0 ? others : [...others, entry];
}

/** Removes fields from every entry for which `keep` is false. */
export function removeFields(
  entries: readonly FieldsEntry[],
  lost: FieldSet,
  keep: (entry: FieldsEntry) => boolean,
): FieldsEntry[] {
  if (lost.size === 0) return [...entries];
  return entries.flatMap((entry) => {
    if (keep(entry)) return [entry];
    const left = difference(buildFields(entry), lost);
    return left.size === 0 ? [] : [{ ...entry, fieldsV1: encode(left) }];
  });
}

/** Computes managedFields after a write: changed fields move to the writer, removed fields lose their owner. */
export function trackUpdate(before: ApiObject | undefined, after: ApiObject, owner: FieldOwner): FieldsEntry[] {
  const old = before === undefined ? new Map<string, unknown>() : getLeaves(before);
  const next = getLeaves(after);
  const changed = new Set(
    [...next].filter(([path, value]) => !isDeepStrictEqual(value, old.get(path))).map(([path]) => path),
  );
  const removed = new Set([...old.keys()].filter((path) => !next.has(path)));
  if (changed.size === 0 && removed.size === 0) return [...listEntries(before)];
  const entries = removeFields(listEntries(before), union(changed, removed), () => false);
  const mine = entries.find((entry) => isOwnedBy(entry, owner));
  const owned = mine === undefined ? changed : union(buildFields(mine), changed);
  return setOwnedFields(entries, owner, owned);
}
