import { TokenKeys } from '@sandlot/tenancy';
import { describe, expect, it } from 'vitest';
import { formatUploadUrl, isSigned, uploadQuery } from './upload-url.ts';

const text = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const keys = new TokenKeys({ key: text(1), number: 1 });
const upload = { namespace: 'team-a', templateID: 'app', hash: 'a'.repeat(64) };
const NOW = 1_000_000;
const HALF_HOUR = 30 * 60_000;

const url = new URL(formatUploadUrl(keys, upload, { origin: 'https://api.example.com', nowMs: NOW }));
const query = uploadQuery.parse(Object.fromEntries(url.searchParams));

describe('the URL of an upload', () => {
  it('is absolute, and counts for half an hour', () => {
    expect(url.origin + url.pathname).toBe(`https://api.example.com/templates/app/files/${upload.hash}`);
    expect(isSigned(keys, upload, { ...query, nowMs: NOW })).toBe(true);
    expect(isSigned(keys, upload, { ...query, nowMs: NOW + HALF_HOUR - 1 })).toBe(true);
    expect(isSigned(keys, upload, { ...query, nowMs: NOW + HALF_HOUR })).toBe(false);
  });

  it.each([
    ['another namespace', { ...upload, namespace: 'team-b' }, {}],
    ['another template', { ...upload, templateID: 'other' }, {}],
    ['another archive', { ...upload, hash: 'b'.repeat(64) }, {}],
    ['parts that were moved', { ...upload, namespace: 'team-', templateID: 'aapp' }, {}],
    ['a later end', upload, { expires: query.expires + 1 }],
    ['another signature', upload, { signature: 'f'.repeat(64) }],
  ])('counts for no upload with %s', (_what, other, changed) => {
    expect(isSigned(keys, other, { ...query, ...changed, nowMs: NOW })).toBe(false);
  });

  it('goes on to count while the key is rotated, and no longer once its key is gone', () => {
    const during = new TokenKeys({ key: text(2), number: 2, other: `1:${text(1)}` });
    expect(isSigned(during, upload, { ...query, nowMs: NOW })).toBe(true);
    const after = new TokenKeys({ key: text(2), number: 2 });
    expect(isSigned(after, upload, { ...query, nowMs: NOW })).toBe(false);
  });
});
