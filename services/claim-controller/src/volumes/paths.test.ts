import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tidyPath } from './paths.ts';

describe('a tidy path', () => {
  it('is the normal form of Node without a trailing slash', () => {
    const part = fc.constantFrom('', '.', '..', 'a', 'b c', '...');
    const path = fc.array(part, { maxLength: 7 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(path, (text) => {
        const normal = posix.normalize(text);
        expect(tidyPath(text)).toBe(normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal);
      }),
    );
  });
});
