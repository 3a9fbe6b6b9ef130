import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonPatchOp } from '@sandlot/kube';
import { JsonPatchError, jsonPatch, mergePatch } from './patch.ts';

describe('mergePatch', () => {
  // The examples of RFC 7386, appendix A.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('merges into %j the patch %j to give %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('is idempotent and changes neither argument', () => {
    const record = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue());
    fc.assert(
      fc.property(record, record, (target, patch) => {
        const before = structuredClone([target, patch]);
        const once = mergePatch(target, patch);
        expect(mergePatch(once, patch)).toEqual(once);
        expect([target, patch]).toEqual(before);
      }),
    );
  });
});

describe('jsonPatch', () => {
  const document = { list: [1, 2], deep: { 'a/b': 1, 'c~d': 2 } };

  it.each<[JsonPatchOp, unknown]>([
    [
      { op: 'add', path: '/list/0', value: 0 },
      { ...document, list: [0, 1, 2] },
    ],
    [
      { op: 'add', path: '/list/2', value: 3 },
      { ...document, list: [1, 2, 3] },
    ],
    [
      { op: 'replace', path: '/list/1', value: 9 },
      { ...document, list: [1, 9] },
    ],
    [
      { op: 'remove', path: '/deep/a~1b' },
      { ...document, deep: { 'c~d': 2 } },
    ],
    [
      { op: 'remove', path: '/deep/c~0d' },
      { ...document, deep: { 'a/b': 1 } },
    ],
    [{ op: 'replace', path: '', value: { all: 'new' } }, { all: 'new' }],
    [{ op: 'test', path: '/list', value: [1, 2] }, document],
  ])('applies %j', (op, result) => {
    expect(jsonPatch(document, [op])).toEqual(result);
  });

  it.each<JsonPatchOp>([
    { op: 'add', path: '/list/4', value: 0 },
    { op: 'add', path: '/nowhere/x', value: 0 },
    { op: 'replace', path: '/nothing', value: 0 },
    { op: 'remove', path: '/list/x' },
    { op: 'copy', from: '/nothing', path: '/deep/x' },
    { op: 'test', path: '/deep/nothing', value: 1 },
    { op: 'add', path: 'no-slash', value: 0 },
  ])('refuses %j and leaves the document unchanged', (op) => {
    const before = structuredClone(document);
    expect(() => jsonPatch(document, [{ op: 'remove', path: '/list/0' }, op])).toThrow(JsonPatchError);
    expect(document).toEqual(before);
  });
});
