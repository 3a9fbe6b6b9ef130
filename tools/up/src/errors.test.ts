import { describe, expect, it } from 'vitest';
import { commandFailed } from './command.ts';
import { UpError, describeFailure } from './errors.ts';

describe('failures at the terminal', () => {
  it('say which step, what is known, and what to do', () => {
    const error = new UpError({
      step: 'Installing',
      problem: 'nats did not start',
      details: 'a\nb\n',
      advice: 'Look.',
    });
    expect(describeFailure(error)).toBe('✗ Installing: nats did not start\n    a\n    b\n\nLook.');
  });

  it('show errors with a code by their message, others with their stack', () => {
    expect(describeFailure(Object.assign(new Error('not root'), { code: 'NOT_ROOT' }))).toBe('✗ not root');
    expect(describeFailure(new TypeError('x'))).toContain('TypeError: x\n    at ');
    expect(describeFailure('text')).toBe('✗ text');
  });

  it('keep the end of what a command said, preferring standard error', () => {
    const stderr = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n');
    const { details } = commandFailed('Building', 'buildah bud', { stdout: 'fine', stderr, code: 2 }).failure;
    expect(details?.split('\n')).toHaveLength(25);
    expect(details).toMatch(/line 39$/);
    expect(commandFailed('s', 'c', { stdout: 'only this', stderr: ' ', code: 1 }).failure.details).toBe('only this');
  });
});
