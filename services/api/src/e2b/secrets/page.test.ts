import { describe, expect, it } from 'vitest';
import { buildSecretPage } from './page.ts';

const AT = '2026-01-01T00:00:00.000Z';
const build = (name: string) => ({ id: `sec_${name}`, name, version: 1, metadata: {}, createdAt: AT, updatedAt: AT });
const listNames = (names: readonly string[], limit: number, nextToken?: string) => {
  const page = buildSecretPage(names.map(build), { limit, nextToken });
  return { names: page.items.map(({ name }) => name), nextToken: page.nextToken };
};

describe('a page of secrets', () => {
  it('has a token unless it is the last', () => {
    const first = listNames(['a', 'b', 'c'], 2);
    expect(first).toEqual({ names: ['a', 'b'], nextToken: Buffer.from('b').toString('base64url') });
    expect(listNames(['a', 'b', 'c'], 2, first.nextToken)).toEqual({ names: ['c'], nextToken: undefined });
    expect(listNames(['a', 'b'], 2, '').nextToken).toBeUndefined();
  });

  it('is not moved by what is created or deleted meanwhile', () => {
    const { nextToken } = listNames(['b', 'c', 'd'], 2);
    expect(listNames(['a', 'b', 'd', 'e'], 2, nextToken).names).toEqual(['d', 'e']);
  });

  it.each(['%', 'QQ', Buffer.from('../a').toString('base64url')])('refuses the token %s', (token) => {
    expect(() => listNames(['a'], 2, token)).toThrow('nextToken: this is no token of a page');
  });
});
