import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isControlPath, isHealthCheck, parseTarget } from './paths.ts';

const CONTROL = ['init', 'freeze', 'unfreeze', 'collapse', 'fsfreeze', 'fsthaw', 'upgrade', 'sandlot'];

describe('isControlPath', () => {
  it.each([
    '/init',
    '/init/',
    '/INIT',
    '/init?x=1',
    '//init',
    '/./init',
    '/a/../init',
    '/%69%6e%69%74',
    '/%2569nit',
    '/%2e%2e/init',
    '/files/..%2finit',
    '/files/..%5cinit',
    '\\init',
    '/init;x',
    '/init%3fx',
    '/in%00it',
    '/sandlot/tunnel',
    '/fsthaw#x',
  ])('is true for %s', (path) => {
    expect(isControlPath(path)).toBe(true);
  });

  it.each(['/', '/health', '/files?path=/init', '/process.Process/Start', '/initial', '/a/init', '/%', '/%zz', ''])(
    'is false for %j',
    (path) => {
      expect(isControlPath(path)).toBe(false);
    },
  );

  it('is true for every mix of encodings, dots and slashes', () => {
    const encoded = (text: string) =>
      fc
        .array(fc.constantFrom('plain', 'encoded', 'twice', 'upper'), {
          minLength: text.length,
          maxLength: text.length,
        })
        .map((ways) =>
          text
            .split('')
            .map((letter, at) => write(letter, ways[at] ?? 'plain'))
            .join(''),
        );
    const noise = fc.constantFrom('/', '//', '/./', '/x/../', '/%2e/', '/x/%2e%2e/', '/x/..%2f', '/%2f');
    const path = fc
      .tuple(noise, fc.constantFrom(...CONTROL).chain(encoded), fc.constantFrom('', '/', '?a', '/x', ';y'))
      .map((parts) => parts.join(''));
    fc.assert(fc.property(path, (text) => isControlPath(text)));
  });
});

function write(letter: string, way: string): string {
  const hex = letter.charCodeAt(0).toString(16);
  if (way === 'encoded') return `%${hex}`;
  if (way === 'twice') return `%25${hex}`;
  return way === 'upper' ? letter.toUpperCase() : letter;
}

describe('targetOf', () => {
  it.each([
    ['/a/../b%2F?c', { path: '/a/../b%2F?c', authority: undefined }],
    ['*', { path: '*', authority: undefined }],
    ['http://host:1/x?y', { path: '/x?y', authority: 'host:1' }],
    ['http://host', { path: '/', authority: 'host' }],
    ['http://host?x', { path: '/?x', authority: 'host' }],
    ['http://', undefined],
    ['x', undefined],
  ])('parses %s', (url, target) => {
    expect(parseTarget(url)).toEqual(target);
  });

  it('never throws and never returns an empty path', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (url) => (parseTarget(url)?.path.length ?? 1) > 0));
  });
});

describe('isHealthCheck', () => {
  it.each([
    ['GET', 49_983, '/health', true],
    ['GET', 49_983, '/health?x', true],
    ['GET', 49_983, '/records?from=1', true],
    ['HEAD', 49_999, '/health', true],
    ['GET', 8_888, '/', true],
    ['POST', 49_983, '/health', false],
    ['GET', 3_000, '/health', false],
    ['GET', 49_983, '/healthy', false],
  ])('for %s to port %i of %s is %s', (...[method, port, path, expected]) => {
    expect(isHealthCheck(method, port, path)).toBe(expected);
  });
});
