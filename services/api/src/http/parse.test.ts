import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../errors/api-error.ts';
import { jsonOf } from './parse.ts';

describe('a body', () => {
  it('is what JSON makes of it, whatever brackets and quotes are in its strings', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
        const text = JSON.stringify(value);
        expect(jsonOf(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
    expect(jsonOf(Buffer.from(JSON.stringify({ a: '[{"\\'.repeat(100) })))).toHaveProperty('a');
  });

  it('may be 64 levels deep, and no deeper', () => {
    const nested = (depth: number): Buffer => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
    expect(jsonOf(nested(64))).toBeInstanceOf(Array);
    expect(() => jsonOf(nested(65))).toThrow(ApiError);
  });

  it('is read in one pass, also when a quote is never closed', () => {
    expect(() => jsonOf(Buffer.from(`"${String.raw`\"`.repeat(500_000)}`))).toThrow('no valid JSON');
  });
});
