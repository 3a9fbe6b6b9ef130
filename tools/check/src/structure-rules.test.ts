import { expect, it } from 'vitest';
import { findStructureProblems } from './structure-rules.ts';

const files = (folder: string, count: number, ending = '.ts'): string[] =>
  Array.from({ length: count }, (_, n) => `${folder}/file-${n}${ending}`);

const lines = (): number => 10;

it.each([
  ['a folder of twenty source files', files('libs/a/src/b', 20)],
  ['tests beside twenty source files', [...files('libs/a/src/b', 20), ...files('libs/a/src/b', 20, '.test.ts')]],
  ['generated files in any number', files('libs/a/src/generated', 40)],
  [
    'a service with its usual top files',
    ['services/a/src/main.ts', 'services/a/src/decide.ts', 'services/a/src/plan/plan.ts'],
  ],
  ['a test beside the top files of a service', ['services/a/src/journey.test.ts']],
  ['test support in a test folder', ['libs/a/test/testing.ts', 'libs/a/test/world.fixture.ts']],
  ['a package with a short README', ['libs/a/package.json', 'libs/a/README.md']],
])('accepts %s', (_, tree) => {
  expect(findStructureProblems(tree, lines)).toEqual([]);
});

it.each([
  ['a folder of 21 TypeScript files', files('libs/a/src/b', 21), /^libs\/a\/src\/b: 21 source files/],
  ['a folder of 21 Go files', files('runtime/internal/b', 21, '.go'), /^runtime\/internal\/b: 21 source files/],
  [
    'a stray file at the top of a service',
    ['services/a/src/memory.ts'],
    /^services\/a\/src\/memory\.ts: the top of a service/,
  ],
  ['testing.ts in src', ['libs/a/src/testing.ts'], /testing\.ts: test support belongs into test\//],
  ['a testkit folder in src', ['libs/a/src/testkit/server.ts'], /test support belongs into test\//],
  ['a fixture in src', ['libs/a/src/b/x.fixture.ts'], /test support belongs into test\//],
  ['a package without a README', ['services/a/package.json'], /^services\/a\/README\.md: missing/],
])('reports %s', (_, tree, problem) => {
  expect(findStructureProblems(tree, lines)).toEqual([expect.stringMatching(problem)]);
});

it('reports a README of more than one screen', () => {
  const tree = ['libs/a/package.json', 'libs/a/README.md'];
  expect(findStructureProblems(tree, () => 81)).toEqual([expect.stringMatching(/^libs\/a\/README\.md: 81 lines/)]);
});
