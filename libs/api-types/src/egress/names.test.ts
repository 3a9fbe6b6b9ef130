import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findHostName, findNamePattern, findReservedProblem, hasName } from './names.ts';

/** The data plane reads the same vectors. */
const VECTORS = new URL('../../../../egress/internal/names/testdata/vectors.json', import.meta.url);
const texts = z.array(z.string());
const vectors = z
  .object({
    names: z.array(z.object({ text: z.string(), normalised: z.string() })),
    patterns: z.array(z.object({ pattern: z.string(), matches: texts, others: texts })),
    refused: texts,
  })
  .parse(JSON.parse(readFileSync(VECTORS, 'utf8')));

const split = (text: string): readonly [string, number] => {
  const [host = '', port = '443'] = text.split(':');
  return [host, Number(port)];
};

describe('the vectors that the data plane reads too', () => {
  it.each(vectors.names)('$text', ({ text, normalised }) => {
    expect(findHostName(text) ?? '').toBe(normalised);
  });

  it.each(vectors.patterns)('$pattern', ({ pattern, matches, others }) => {
    const found = findNamePattern(pattern);
    if (found === undefined) throw new Error(`${pattern} is no pattern`);
    expect(matches.filter((host) => !hasName(found, ...split(host)))).toEqual([]);
    expect(others.filter((host) => hasName(found, ...split(host)))).toEqual([]);
  });

  it.each(vectors.refused)('refuses %j', (text) => {
    expect(findNamePattern(text)).toBeUndefined();
  });
});

it('a normalised name stays as it is', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.string(), fc.webAuthority()), (text) => {
      const once = findHostName(text);
      if (once !== undefined) expect(findHostName(once)).toBe(once);
    }),
  );
});

it.each([
  ['localhost', 'localhost'],
  ['*.local', 'local'],
  ['Metadata.google.INTERNAL.:443', 'internal'],
  ['kubernetes.default.svc', 'svc'],
  ['*.in-addr.arpa', 'arpa'],
])('says of %s why it is never let through', (text, end) => {
  expect(findReservedProblem(text)).toBe(`names that end in ${end} are never let through`);
});

it.each([
  'example.com',
  'local.example.com',
  'notlocal.example',
  '*',
  '',
  '10.0.0.1',
  '2001:db8::1',
  'https://a.local/',
])('says of %j that it is not a name that is never let through', (text) => {
  expect(findReservedProblem(text)).toBeUndefined();
});
