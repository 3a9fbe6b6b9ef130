import { expect, it } from 'vitest';
import { findMissingTests } from './threat-rules.ts';

const files: Readonly<Record<string, string>> = {
  '../a.test.ts': "it('holds the wall', () => {});",
  '../a_test.go': 'func TestTheWall(t *testing.T) {}',
};
const read = (path: string): string | undefined => files[path];

it('accepts tests that exist', () => {
  expect(findMissingTests('| x | ["holds the wall"](../a.test.ts), ["TestTheWall"](../a_test.go) |', read)).toEqual([]);
});

it.each([
  ['a test that has another name', '["holds a wall"](../a.test.ts)', 'the test "holds a wall", which ../a.test.ts'],
  ['a part of a name', '["holds the"](../a.test.ts)', 'the test "holds the"'],
  ['a file that is missing', '["holds the wall"](../b.test.ts)', 'which ../b.test.ts does not have'],
  ['a page without tests', 'nothing', 'names no test'],
])('reports %s', (_, page, problem) => {
  expect(findMissingTests(page, read)).toEqual([expect.stringContaining(problem)]);
});
