import { describe, expect, it } from 'vitest';
import { deriveBuilderToken, isBuilderAuthorization } from './builder-token.ts';
import { TokenKeys } from './token-keys.ts';

const [one, two] = ['1', '2'].map((digit) => Buffer.alloc(32, digit).toString('base64')) as [string, string];
const before = new TokenKeys({ key: one, number: 1 });
const during = new TokenKeys({ key: two, number: 2, other: `1:${one}` });
const after = new TokenKeys({ key: two, number: 2 });

describe('the token of the API for the template-builder', () => {
  it.each([
    ['before a rotation', before, before],
    ['while only the API has the new key', during, before],
    ['while only the template-builder has the new key', before, during],
    ['while the template-builder still has the old key', after, during],
    ['after a rotation', after, after],
  ])('is accepted %s', (_when, api, builder) => {
    expect(isBuilderAuthorization(builder, `Bearer ${deriveBuilderToken(api)}`)).toBe(true);
  });

  it.each([
    ['none', undefined],
    ['an empty one', ''],
    ['another scheme', `Basic ${deriveBuilderToken(before)}`],
    ['a part of one', `Bearer ${deriveBuilderToken(before).slice(1)}`],
    ['that of another installation', `Bearer ${deriveBuilderToken(after)}`],
  ])('refuses %s', (_what, header) => {
    expect(isBuilderAuthorization(before, header)).toBe(false);
  });
});
