import { describe, expect, it } from 'vitest';
import { KubeError, getErrorCode, isConflict, isNotFound, isUnknownOutcome } from './errors.ts';
import type { KubeErrorCode, Verb } from './errors.ts';

const failed = (verb: Verb, code: KubeErrorCode, sent = true): KubeError =>
  new KubeError({ verb, resource: 'pods', key: 'n/a', message: 'no', code, sent });

describe('getErrorCode', () => {
  it.each<[number, string | undefined, KubeErrorCode]>([
    [409, 'AlreadyExists', 'AlreadyExists'],
    [409, 'Conflict', 'Conflict'],
    [410, 'Expired', 'Gone'],
    [400, 'Expired', 'Gone'],
    [404, undefined, 'NotFound'],
    [422, 'Invalid', 'Invalid'],
    [504, 'Timeout', 'Timeout'],
    [500, 'InternalError', 'ServerError'],
    [503, undefined, 'ServerError'],
    [415, 'UnsupportedMediaType', 'BadRequest'],
  ])('reads %i %s as %s', (status, reason, code) => {
    expect(getErrorCode(status, reason)).toBe(code);
  });
});

describe('isUnknownOutcome', () => {
  it.each([
    ['a create without an answer', failed('create', 'Timeout'), true],
    ['a patch whose connection broke', failed('mergePatch', 'Network'), true],
    ['an apply the caller gave up', failed('apply', 'Aborted'), true],
    ['a delete that met an internal error', failed('delete', 'ServerError'), true],
    ['a patch that the server refused with 429', failed('jsonPatch', 'TooManyRequests'), true],
    ['a create that was never sent', failed('create', 'Network', false), false],
    ['a patch that lost a race', failed('mergePatch', 'Conflict'), false],
    ['a create of what exists', failed('create', 'AlreadyExists'), false],
    ['a get without an answer', failed('get', 'Timeout'), false],
    ['a watch whose connection broke', failed('watch', 'Network'), false],
  ])('for %s', (_call, error, unknown) => {
    expect(isUnknownOutcome(error)).toBe(unknown);
  });
});

describe('predicates', () => {
  it('distinguish the codes, and ignore errors of other libraries', () => {
    expect(
      [failed('get', 'NotFound'), failed('get', 'Conflict'), new Error('NotFound'), undefined].map(isNotFound),
    ).toEqual([true, false, false, false]);
    expect(isConflict(failed('mergePatch', 'Conflict'))).toBe(true);
  });
});
