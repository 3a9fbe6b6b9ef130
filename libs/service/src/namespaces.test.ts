import { ConfigError, loadConfig } from '@sandlot/config';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isServed, namespaceList } from './namespaces.ts';

const schema = z.object({ WATCH_NAMESPACES: namespaceList().optional() });

describe('the namespaces of a release', () => {
  it.each([
    ['one', 'team-a', ['team-a']],
    ['several, with blanks', 'team-a, team-b ,3', ['team-a', 'team-b', '3']],
    ['all, as an empty text', '', undefined],
  ])('are %s', (...[, given, expected]) => {
    expect(loadConfig(schema, { WATCH_NAMESPACES: given }).WATCH_NAMESPACES).toEqual(expected);
  });

  it.each([
    ['an upper-case letter', 'Team-a'],
    ['a name with a dot', 'team.a'],
    ['a name of 64 characters', 'a'.repeat(64)],
    ['a name twice', 'team-a,team-b,team-a'],
    ['commas alone', ', ,'],
    ['a wildcard', '*'],
  ])('are refused for %s', (_, given) => {
    const load = (): unknown => loadConfig(schema, { WATCH_NAMESPACES: given });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow('WATCH_NAMESPACES: expected names of namespaces, separated by commas, each once, got "');
  });

  it('contain those in the list, or all without one', () => {
    const served = ['team-a', 'team-b'];
    expect(['team-a', 'team-b', 'team-c'].map((name) => isServed(served, name))).toEqual([true, true, false]);
    expect(isServed(undefined, 'team-c')).toBe(true);
  });
});
