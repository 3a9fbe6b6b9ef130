import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../errors/api-error.ts';
import { parseJson } from './parse.ts';

describe('parseJson', () => {
  it('parses like JSON.parse, whatever brackets and quotes are in strings', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
    expect(parseJson(Buffer.from(JSON.stringify({ a: '[{"\\'.repeat(100) })))).toHaveProperty('a');
  });

  it('accepts 64 levels of nesting and no more', () => {
    const nested = (depth: number): Buffer => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
    expect(parseJson(nested(64))).toBeInstanceOf(Array);
    expect(() => parseJson(nested(65))).toThrow(ApiError);
  });

  it.each(['{"value": hunter2}', '{"value":"hunter2"', 'hunter2', '{"a":"hunter2",}'])(
    'says of %s that it is no JSON, without quoting it',
    (text) => {
      const parse = (): unknown => parseJson(Buffer.from(text));
      expect(parse).toThrow(/^the body is no valid JSON( at position \d+)?$/);
    },
  );

  it('checks the depth in a single pass, even with an unclosed quote', () => {
    expect(() => parseJson(Buffer.from(`"${String.raw`\"`.repeat(500_000)}`))).toThrow('no valid JSON');
  });
});
