import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPreview, derivePreviewKey, formatPreviewKey, readPreviewGeneration, signPreview } from './previews.ts';

const SECRET = Buffer.alloc(32, 7);
const NOW_MS = 1_800_000_000_000;
const expires = NOW_MS / 1_000 + 60;
const key = derivePreviewKey(SECRET, 'team-a/box', 0);
const token = signPreview(key, { uid: 'uid-a', port: 3000, expires });
const place = { key: formatPreviewKey(key), uid: 'uid-a', port: 3000, nowMs: NOW_MS };

describe('a preview', () => {
  it('opens its port of its claim until it expires', () => {
    expect(checkPreview(token, place)).toEqual({ kind: 'valid', expires });
    expect(checkPreview(token, { ...place, nowMs: expires * 1_000 - 1 }).kind).toBe('valid');
    expect(checkPreview(token, { ...place, nowMs: expires * 1_000 })).toEqual({ kind: 'expired' });
  });

  it.each([
    ['another port', { port: 3001 }],
    ['a later claim of the same name', { uid: 'uid-b' }],
    ['the claim of another name', { key: formatPreviewKey(derivePreviewKey(SECRET, 'team-a/other', 0)) }],
    [
      'the claim of another installation',
      { key: formatPreviewKey(derivePreviewKey(Buffer.alloc(32, 8), 'team-a/box', 0)) },
    ],
    ['a claim without previews', { key: undefined }],
    ['a claim whose annotation is malformed', { key: 'x' }],
  ])('does not open %s', (_, other) => {
    expect(checkPreview(token, { ...place, ...other })).toEqual({ kind: 'foreign' });
  });

  it('opens nothing once it is revoked', () => {
    const next = formatPreviewKey(derivePreviewKey(SECRET, 'team-a/box', 1));
    expect(checkPreview(token, { ...place, key: next })).toEqual({ kind: 'revoked' });
    expect(checkPreview(token.replace('.0.', '.1.'), { ...place, key: next })).toEqual({ kind: 'foreign' });
  });

  it('cannot be made to last longer', () => {
    expect(checkPreview(token.replace(String(expires), String(expires + 1)), place)).toEqual({ kind: 'foreign' });
  });

  it('is nothing that a client makes up, and no text makes the check throw', () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[0-9]{1,11}\.0\.[A-Za-z0-9_-]{86}$/));
    fc.assert(
      fc.property(texts, (text) => {
        expect(checkPreview(text, place)).toEqual({ kind: 'foreign' });
        expect(checkPreview(token, { ...place, key: text })).toEqual({ kind: 'foreign' });
      }),
    );
  });
});

describe('readPreviewGeneration', () => {
  it('reads the generation of a key', () => {
    expect(readPreviewGeneration(formatPreviewKey(derivePreviewKey(SECRET, 'team-a/box', 12)))).toBe(12);
    expect([readPreviewGeneration(undefined), readPreviewGeneration('1.short')]).toEqual([undefined, undefined]);
  });
});
