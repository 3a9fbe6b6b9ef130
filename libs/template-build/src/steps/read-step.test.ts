import { describe, expect, it } from 'vitest';
import type { Instruction, InstructionOf, Step } from './instruction.ts';
import { readStep } from './read-step.ts';

const HASH = 'a'.repeat(64);
const step = (type: string, ...args: readonly string[]): Step => ({ type, args });
const copy = (...args: readonly string[]): Step => ({ type: 'COPY', args, filesHash: HASH });
const copied = (fields: Partial<InstructionOf<'copy'>>): Instruction => ({
  kind: 'copy',
  source: 'app',
  destination: '/app',
  filesHash: HASH,
  ...fields,
});

describe('a step as the clients of E2B serialise it', () => {
  it.each<[string, Step, Instruction]>([
    ['runCmd', step('RUN', 'ls -l'), { kind: 'run', command: 'ls -l' }],
    [
      'runCmd with a user',
      step('RUN', 'apt-get update', 'root'),
      { kind: 'run', command: 'apt-get update', user: 'root' },
    ],
    ['runCmd with an empty user', step('RUN', 'id', ''), { kind: 'run', command: 'id' }],
    ['copy', copy('app', '/app', '', ''), copied({})],
    ['copy of everything', copy('.', '/app', '', ''), copied({ source: '' })],
    ['copy of a folder with a slash', copy('./app/', '/app', '', ''), copied({})],
    ['copy of a glob', copy('src/lib/*.py', '/app', '', ''), copied({ source: 'src/lib' })],
    ['copy of a glob in the middle', copy('src/v*/x.py', '/app', '', ''), copied({ source: 'src' })],
    ['copy of a glob at the top', copy('*.txt', '/app', '', ''), copied({ source: '' })],
    ['copy with a user', copy('app', '/app', 'root', ''), copied({ owner: 'root:root' })],
    ['copy with user and group', copy('app', '/app', 'user:www-data', ''), copied({ owner: 'user:www-data' })],
    ['copy with a mode', copy('app', '/app', '', '0755'), copied({ mode: '0755' })],
    ['copy with a name of its own', copy('a b', '/app', '', ''), copied({ source: 'a b' })],
    [
      'setEnvs',
      step('ENV', 'A', '1', 'B', ''),
      {
        kind: 'env',
        variables: [
          ['A', '1'],
          ['B', ''],
        ],
      },
    ],
    ['setWorkdir', step('WORKDIR', 'src'), { kind: 'workdir', path: 'src' }],
    ['setUser', step('USER', 'www-data'), { kind: 'user', name: 'www-data', canSudo: false }],
    ['setUser with sudo', step('USER', 'dev', 'true'), { kind: 'user', name: 'dev', canSudo: true }],
  ])('%s', (_name, given, read) => {
    expect(readStep(given)).toEqual(read);
  });
});

describe('a step that cannot be carried out', () => {
  it.each<[Step, string]>([
    [step('RUN'), 'RUN requires a command argument'],
    [step('RUN', '  '), 'RUN requires a command argument'],
    [step('RUN', 'id', 'a b'), '"a b" cannot be a user: use lower-case letters, digits, _ and -, 32 at most'],
    [step('COPY', 'a', '/b'), 'COPY requires files hash to be set'],
    [{ type: 'COPY', args: ['a', '/b'], filesHash: '../x' }, 'COPY: the files hash is not 64 lower-case hex digits'],
    [copy('a'), 'COPY requires a source and a destination argument'],
    [copy('../a', '/b'), 'COPY: the source ../a is outside of the build context'],
    [copy('a/../../b/*', '/b'), 'COPY: the source a/../../b/* is outside of the build context'],
    [copy('a', '/b', 'x:y:z'), '"x:y:z" cannot be a user: use lower-case letters, digits, _ and -, 32 at most'],
    [copy('a', '/b', ':root'), '":root" cannot be a user: use lower-case letters, digits, _ and -, 32 at most'],
    [copy('a', '/b', '', 'u+x'), 'COPY: the mode u+x is not three or four octal digits'],
    [step('ENV', 'A'), 'ENV requires both a key and value arguments'],
    [step('ENV'), 'ENV requires both a key and value arguments'],
    [step('ENV', 'A=B', 'x'), 'ENV: "A=B" cannot be the name of a variable'],
    [step('WORKDIR', ''), 'WORKDIR requires a path argument'],
    [step('USER', ''), 'USER requires a user name argument'],
    [step('USER', 'a;id'), '"a;id" cannot be a user: use lower-case letters, digits, _ and -, 32 at most'],
    [step('EXPOSE', '80'), 'command type EXPOSE is not implemented'],
    [step('toString'), 'command type toString is not implemented'],
  ])('%j', (given, problem) => {
    expect(readStep(given)).toEqual({ problem });
  });
});
