import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intersectNames } from './intersect-names.ts';
import { findNamePattern, hasName } from './names.ts';

describe('what two lists of names have in common', () => {
  it.each<[string, readonly [one: readonly string[], other: readonly string[]], readonly string[]]>([
    ['is nothing without names', [['a.com'], []], []],
    [
      'is the same name',
      [
        ['a.com', 'b.com'],
        ['b.com', 'c.com'],
      ],
      ['b.com'],
    ],
    ['is the name with the port', [['a.com'], ['a.com:443']], ['a.com:443']],
    ['is the same port', [['a.com:443', 'a.com:80'], ['a.com:443']], ['a.com:443']],
    ['is nothing on different ports', [['a.com:443'], ['a.com:80']], []],
    ['is the name below the wildcard', [['*.x.org'], ['a.x.org', 'x.org', 'ax.org']], ['a.x.org']],
    ['is the narrower wildcard', [['*.x.org'], ['*.a.x.org']], ['*.a.x.org']],
    ['is the same wildcard, with the port', [['*.x.org:8443'], ['*.x.org']], ['*.x.org:8443']],
    ['is nothing of two wildcards', [['*.x.org'], ['*.y.org']], []],
    ['is all of a list beside every name', [['*'], ['a.com', '*.x.org:80']], ['a.com', '*.x.org:80']],
    ['has the port of the wider one', [['*:443'], ['a.com', '*.x.org:80']], ['a.com:443']],
    ['is every name if both have that', [['*'], ['*:443', '*']], ['*:443', '*']],
    [
      'has each once',
      [
        ['a.com', '*'],
        ['a.com', 'A.com.'],
      ],
      ['a.com'],
    ],
    [
      'leaves out what is no name',
      [
        ['a.com', '10.0.0.1'],
        ['a.com', '10.0.0.1', ''],
      ],
      ['a.com'],
    ],
  ])('%s', (_name, lists, expected) => {
    expect(intersectNames(...lists)).toEqual(expected);
  });
});

const labels = fc.constantFrom('a', 'b', 'x', 'y');
const hosts = fc.array(labels, { minLength: 2, maxLength: 4 }).map((parts) => parts.join('.'));
const ports = fc.constantFrom(80, 443);
const patterns = fc
  .tuple(
    fc.oneof(
      hosts,
      hosts.map((host) => `*.${host}`),
      fc.constant('*'),
    ),
    fc.option(ports),
  )
  .map(([name, port]) => (port === null ? name : `${name}:${port}`));
const lists = fc.array(patterns, { maxLength: 6 });

/** Whether one of the patterns has the name. */
const has = (list: readonly string[], host: string, port: number): boolean =>
  list.some((text) => {
    const pattern = findNamePattern(text);
    return pattern !== undefined && hasName(pattern, host, port);
  });

it('a name is in the result if it is in both lists, and only then', () => {
  fc.assert(
    fc.property(fc.tuple(lists, lists), hosts, ports, ([one, other], host, port) => {
      expect(has(intersectNames(one, other), host, port)).toBe(has(one, host, port) && has(other, host, port));
    }),
    { numRuns: 2_000 },
  );
});
