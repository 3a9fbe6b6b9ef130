import { describe, expect, it } from 'vitest';
import type { Instruction } from './instruction.ts';
import { advanceState, initialState, needsLogin, resolveDestination } from './state.ts';
import type { BuildState } from './state.ts';

const LOGIN = { PATH: '/usr/bin', HOME: '/root' };
const env = (...variables: readonly (readonly [string, string])[]): Instruction => ({ kind: 'env', variables });
const advance = (...steps: readonly Instruction[]): BuildState =>
  steps.reduce((state, each) => advanceState(state, each, LOGIN), initialState);

describe('the state of a build', () => {
  it('has the newest user, and workdirs that are relative to each other', () => {
    const state = advance(
      { kind: 'user', name: 'dev', canSudo: false },
      { kind: 'workdir', path: 'srv' },
      { kind: 'workdir', path: '../opt/app' },
      { kind: 'run', command: 'cd /tmp', user: 'root' },
    );
    expect(state).toEqual({ user: 'dev', workdir: '/opt/app', env: {} });
  });

  it('expands variables against those of before the step, and those of a login shell', () => {
    const state = advance(
      env(['A', '1']),
      env(['A', '2'], ['B', '${A}-$A'], ['PATH', '/opt/bin:$PATH'], ['C', '$NONE.']),
    );
    expect(state.env).toEqual({ A: '2', B: '1-1', PATH: '/opt/bin:/usr/bin', C: '.' });
  });

  it('leaves everything else in values as it is', () => {
    const literal = String.raw`\n "a" 'b' ${'`id`'} $(id) $ $1 ${'${A:-x}'} \x`;
    expect(advance(env(['A', literal])).env).toEqual({ A: literal });
  });

  it('does not take the members of every object for variables', () => {
    expect(advance(env(['A', '[$constructor$__proto__]'])).env).toEqual({ A: '[]' });
  });

  it('needs a login shell only where a value refers to a variable', () => {
    expect(
      [env(['A', 'x']), env(['A', '1'], ['B', '$A']), { kind: 'run', command: '$A' } as const].map(needsLogin),
    ).toEqual([false, true, false]);
  });
});

describe('the destination of a COPY', () => {
  it.each([
    ['/app', undefined, 'root', '/app'],
    ['/app/', undefined, 'root', '/app/'],
    ['/app/.', undefined, 'root', '/app/'],
    ['/../etc', undefined, 'root', '/etc'],
    ['app', undefined, 'home', 'app'],
    ['.', undefined, 'home', ''],
    ['./', undefined, 'home', ''],
    ['../../etc', undefined, 'home', 'etc'],
    ['app/', undefined, 'home', 'app/'],
    ['app', '/srv', 'root', '/srv/app'],
    ['.', '/srv', 'root', '/srv/'],
    ['..', '/srv/x', 'root', '/srv/'],
  ])('%s in %s', (...[destination, workdir, from, path]) => {
    expect(resolveDestination({ ...initialState, workdir }, destination)).toEqual({ from, path });
  });
});

it('takes no variables that a few steps make longer and longer', () => {
  const double = { kind: 'env', variables: [['A', '$A'.repeat(1_000)]] } as const;
  const begun = { ...initialState, env: { A: 'x'.repeat(100) } };
  const once = advanceState(begun, double, {});
  expect(once.env['A']).toHaveLength(100_000);
  expect(() => advanceState(once, double, {})).toThrow('ENV: the variables have more than 131072 characters');
});
