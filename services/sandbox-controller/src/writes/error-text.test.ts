import { KubeError } from '@sandlot/kube';
import type { KubeErrorCode, Verb } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { findPublishableText } from './error-text.ts';

const failure = (code: KubeErrorCode, verb: Verb): KubeError =>
  new KubeError({ code, verb, resource: 'pods', key: 'team-a/notebook', message: 'because' });

describe('an error', () => {
  it.each([
    ['Invalid', 'create'],
    ['Forbidden', 'create'],
    ['ServerError', 'create'],
    ['NotFound', 'create'],
    ['BadRequest', 'mergePatch'],
  ] as const)('%s of a %s is for the owner to read', (code, verb) => {
    expect(findPublishableText(failure(code, verb))).toBe(`${verb} pods team-a/notebook: because`);
  });

  it.each([
    ['Conflict', 'mergePatch'],
    ['NotFound', 'mergePatch'],
    ['TooManyRequests', 'create'],
    ['Timeout', 'create'],
    ['Network', 'create'],
    ['Aborted', 'create'],
  ] as const)('%s of a %s only asks for another pass', (code, verb) => {
    expect(findPublishableText(failure(code, verb))).toBeUndefined();
  });

  it('that is not from the API server is not published', () => {
    expect(findPublishableText(new Error('bug'))).toBeUndefined();
  });
});
