import { TokenKeys } from '@sandlot/tenancy';
import { describe, expect, it } from 'vitest';
import { digestStart, readStart } from './read-start.ts';
import { buildStart } from './schemas.ts';

const text = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const keys = new TokenKeys({ key: text(1), number: 1 });
const BODY = {
  fromImage: 'python:3',
  fromImageRegistry: { type: 'registry', username: 'ana', password: 'secret' },
  steps: [{ type: 'RUN', args: ['ls'] }],
  startCmd: 'run',
};
const read = (fields: object) => readStart(buildStart.parse({ ...BODY, ...fields }));
const digest = (fields: object = {}, by = keys): string => digestStart(by, read(fields));

describe('the digest of a start', () => {
  it.each([
    ['another image', { fromImage: 'python:4' }],
    ['another password', { fromImageRegistry: { ...BODY.fromImageRegistry, password: 'other' } }],
    ['no credentials', { fromImageRegistry: null }],
    ['another step', { steps: [{ type: 'RUN', args: ['ls', 'root'] }] }],
    ['a forced step', { steps: [{ type: 'RUN', args: ['ls'], force: true }] }],
    ['force', { force: true }],
    ['another command', { startCmd: 'walk' }],
    ['the command in the other place', { startCmd: null, readyCmd: 'run' }],
  ])('differs with %s', (_what, fields) => {
    expect(digest(fields)).not.toBe(digest());
  });

  it.each([
    ['fields that are left out or have their default', { force: false, readyCmd: '', fromTemplate: null }],
    ['keys that are for the client alone', { steps: [{ ...BODY.steps[0], forceUpload: true, gzip: false }] }],
  ])('is the same with %s', (_what, fields) => {
    expect(digest(fields)).toBe(digest());
  });

  it('cannot be computed without the key, and stays the same while the key is rotated', () => {
    expect(digest({}, new TokenKeys({ key: text(2), number: 1 }))).not.toBe(digest());
    expect(digest({}, new TokenKeys({ key: text(2), number: 2, other: `1:${text(1)}` }))).toBe(digest());
  });
});
