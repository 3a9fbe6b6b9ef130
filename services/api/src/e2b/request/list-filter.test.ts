import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listedSandboxFixture } from '../../../test/fixtures.ts';
import { buildFilter, parseMetadataFilter } from './list-filter.ts';

/** Encodes like a client, but without the encoding of the query itself. */
function encode(metadata: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(metadata).map(([key, value]): [string, string] => [
    encodeURIComponent(key),
    encodeURIComponent(value),
  ]);
  return new URLSearchParams(pairs).toString();
}

describe('parseMetadataFilter', () => {
  it.each([
    ['the example of the reference', 'a=b%2520c', [['a', 'b c']]],
    ['an absent filter', undefined, []],
    [
      'several pairs',
      'a=1&b=2',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['a value that is not encoded', 'a=b', [['a', 'b']]],
  ])('decodes %s', (...[, text, pairs]) => {
    expect(parseMetadataFilter(text)).toEqual(pairs);
  });

  it('decodes everything that a client can encode', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((given) => given.isWellFormed());
    fc.assert(
      fc.property(fc.dictionary(text, text), (metadata) => {
        expect(parseMetadataFilter(encode(metadata))).toEqual(Object.entries(metadata));
      }),
    );
  });

  it('rejects a malformed percent-encoding', () => {
    expect(() => parseMetadataFilter('a=%25zz')).toThrow('not percent-encoded');
  });
});

describe('buildFilter', () => {
  const listed = listedSandboxFixture('a', { metadata: { user: 'ana', team: 'x' }, state: 'paused' });

  it.each([
    ['all metadata pairs', { metadata: 'user=ana&team=x' }, true],
    ['one metadata pair of two', { metadata: 'user=ana&team=y' }, false],
    ['a metadata key that every object inherits', { metadata: 'toString=x' }, false],
    ['the same state', { state: ['paused' as const] }, true],
    ['another state', { state: ['running' as const] }, false],
    ['the same template', { template: 'base' }, true],
    ['another template', { template: 'other' }, false],
    ['an earlier start', { startedAfter: '2025-12-31T23:59:59Z' }, true],
    ['the same start', { startedAfter: '2026-01-01T00:00:00Z' }, false],
  ])('compares %s', (...[, query, isMatch]) => {
    expect(
      buildFilter({ metadata: undefined, state: undefined, startedAfter: undefined, template: undefined, ...query })(
        listed,
      ),
    ).toBe(isMatch);
  });
});
