import { expect, it } from 'vitest';
import { hasTest } from './named-tests.ts';

it.each([
  ['a test of TypeScript by its text', "it('holds', () => {});", 'holds', true],
  ['a test of Go by its function', 'func TestTheWall(t *testing.T) {', 'TestTheWall', true],
  ['a test of Python by its function', '    def test_the_wall(self):', 'test_the_wall', true],
  ['no part of a name', "it('holds the wall', () => {});", 'holds', false],
  ['no call of a function', '  test_the_wall()', 'test_the_wall', false],
])('finds %s', (...[, text, name, expected]) => {
  expect(hasTest(text, name)).toBe(expected);
});
