import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOp } from '@sandlot/kube';
import type { OpenRecord } from '../storage/api-object.ts';
import { isRecord } from '../storage/api-object.ts';

/** RFC 7386: merges objects, deletes members set to `null`, and replaces other values. Changes neither argument. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: OpenRecord = isRecord(target) ? { ...target } : {};
  for (const [member, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(merged, member);
    else merged[member] = mergePatch(merged[member], value);
  }
  return merged;
}

/** An operation of a JSON patch that does not fit the document. */
export class JsonPatchError extends Error {
  override readonly name = 'JsonPatchError';
}

/** RFC 6902 on a copy of `document`. Throws {@link JsonPatchError} without changing anything. */
export function jsonPatch(document: OpenRecord, ops: readonly JsonPatchOp[]): unknown {
  const root: OpenRecord = { '': structuredClone(document) };
  for (const op of ops) applyOp(root, op);
  return root[''];
}

function applyOp(root: OpenRecord, op: JsonPatchOp): void {
  switch (op.op) {
    case 'add': {
      add(root, op.path, structuredClone(op.value));
      return;
    }
    case 'replace':
      remove(root, op.path);
      {
        add(root, op.path, structuredClone(op.value));
        return;
      }
    case 'remove':
      remove(root, op.path);
      return;
    case 'move': {
      add(root, op.path, remove(root, op.from));
      return;
    }
    case 'copy': {
      add(root, op.path, structuredClone(read(root, op.from)));
      return;
    }
    case 'test':
      if (!isDeepStrictEqual(readOptional(root, op.path), op.value)) {
        throw new JsonPatchError(`testing path ${op.path} value failed`);
      }
  }
}

/** Splits a JSON pointer into steps. The document is member `''` of a wrapper, so that a patch can replace all of it. */
function parsePointer(pointer: string): string[] {
  if (pointer !== '' && !pointer.startsWith('/')) throw new JsonPatchError(`invalid pointer ${pointer}`);
  return pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

interface Place {
  readonly parent: OpenRecord | unknown[];
  readonly last: string;
}

function locate(root: OpenRecord, pointer: string): Place {
  const path = parsePointer(pointer);
  const last = path.pop() ?? '';
  let parent: unknown = root;
  for (const step of path) parent = getChild(parent, step);
  if (!isRecord(parent) && !Array.isArray(parent)) throw missingPathError(pointer);
  return { parent, last };
}

function getChild(parent: unknown, step: string): unknown {
  if (Array.isArray(parent)) return parent[indexIn(parent, step)];
  return isRecord(parent) ? parent[step] : undefined;
}

/** The index of an existing element. */
function indexIn(list: readonly unknown[], step: string): number {
  const index = Number(step);
  if (!/^\d+$/.test(step) || index >= list.length) throw missingPathError(step);
  return index;
}

function readOptional(root: OpenRecord, pointer: string): unknown {
  const { parent, last } = locate(root, pointer);
  return getChild(parent, last);
}

function read(root: OpenRecord, pointer: string): unknown {
  const value = readOptional(root, pointer);
  if (value === undefined) throw missingPathError(pointer);
  return value;
}

function add(root: OpenRecord, pointer: string, value: unknown): void {
  const { parent, last } = locate(root, pointer);
  if (!Array.isArray(parent)) parent[last] = value;
  else if (last === '-' || Number(last) === parent.length) parent.push(value);
  else parent.splice(indexIn(parent, last), 0, value);
}

function remove(root: OpenRecord, pointer: string): unknown {
  const removed = read(root, pointer);
  const { parent, last } = locate(root, pointer);
  if (Array.isArray(parent)) parent.splice(indexIn(parent, last), 1);
  else Reflect.deleteProperty(parent, last);
  return removed;
}

function missingPathError(pointer: string): JsonPatchError {
  return new JsonPatchError(`path ${pointer} does not exist`);
}
