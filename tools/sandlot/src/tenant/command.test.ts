import { describe, expect, it } from 'vitest';
import { getPairs, parseCommand } from './command.ts';
import { parsePlace, takeName } from './copy.ts';
import { quote } from './exec.ts';
import { clean, formatSpan } from './print.ts';
import { create, list, pause } from './sandboxes.ts';
import { exec } from './exec.ts';

describe('arguments of a command', () => {
  it('are options, names, and what follows --', () => {
    const { values, names, rest } = parseCommand(exec, ['id', '-u', 'root', '--', 'ls', '-l', '--', 'x']);
    expect([values['user'], names, rest]).toEqual(['root', ['id'], ['ls', '-l', '--', 'x']]);
  });

  it.each([
    [list, ['extra'], 'list takes'],
    [pause, [], 'pause takes ID…'],
    [list, ['-o', 'xml'], '-o takes text, json, yaml, name, not "xml"'],
    [list, ['--nothing'], "Unknown option '--nothing'"],
  ])('of %o that are wrong fail with the usage', (command, args, message) => {
    const failing = (): unknown => parseCommand(command, args);
    expect(failing).toThrow(message);
    expect(failing).toThrow(expect.objectContaining({ code: 'Usage' }));
  });

  it('NAME=VALUE may have more equals signs in its value', () => {
    const { values } = parseCommand(create, ['-e', 'A=1', '-e', 'B=x=y']);
    expect(getPairs({ values }, 'env', create)).toEqual({ A: '1', B: 'x=y' });
    const wrong = parseCommand(create, ['-e', 'A']);
    expect(() => getPairs(wrong, 'env', create)).toThrow('--env takes NAME=VALUE, not "A"');
  });
});

it.each([
  ['plain-1.txt', 'plain-1.txt'],
  ['two words', "'two words'"],
  ["it's", `'it'\\''s'`],
  ['$(id)', "'$(id)'"],
  ['', "''"],
])('an argument arrives as it was given: %s', (argument, quoted) => {
  expect(quote(argument)).toBe(quoted);
});

it.each([
  ['abc123:/home/user/x', { id: 'abc123', path: '/home/user/x' }],
  ['abc123:', { id: 'abc123', path: '.' }],
  ['./a:b', { id: undefined, path: './a:b' }],
  ['/tmp/x', { id: undefined, path: '/tmp/x' }],
])('%s is a place', (text, place) => {
  expect(parsePlace(text)).toEqual(place);
});

it.each(['..', '.', '', 'a/b', 'a\\b', 'a\0b'])('a sandbox cannot have a file written to %j', (name) => {
  expect(() => takeName(name)).toThrow('the sandbox has a file called');
});

it('text of a tenant does not steer the terminal', () => {
  expect(clean('a\u001B[2Jb\u202Ec\r\n')).toBe('a?[2Jb?c??');
});

it.each([
  [45_000, '45s'],
  [119_400, '119s'],
  [720_000, '12m'],
  [3 * 3_600_000, '3h'],
  [3 * 86_400_000, '3d'],
  [-5, '0s'],
])('%i ms are %s', (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});
