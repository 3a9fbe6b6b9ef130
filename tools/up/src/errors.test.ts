import { describe, expect, it } from 'vitest';
import { createCommandError } from './command.ts';
import { UpError, describeFailure } from './errors.ts';

describe('describeFailure', () => {
  it('names the step and the problem, shows details and gives advice', () => {
    const error = new UpError({
      step: 'Installing',
      problem: 'nats did not start',
      details: 'a\nb\n',
      advice: 'Look.',
    });
    expect(describeFailure(error)).toBe('✗ Installing: nats did not start\n    a\n    b\n\nLook.');
  });

  it('shows the message of an error with a code, and the stack of any other', () => {
    expect(describeFailure(Object.assign(new Error('not root'), { code: 'NOT_ROOT' }))).toBe('✗ not root');
    expect(describeFailure(new TypeError('x'))).toContain('TypeError: x\n    at ');
    expect(describeFailure('text')).toBe('✗ text');
  });

  it("keeps the end of a failed command's output and prefers standard error", () => {
    const stderr = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n');
    const { details } = createCommandError('Building', 'buildah bud', { stdout: 'fine', stderr, code: 2 }).failure;
    expect(details?.split('\n')).toHaveLength(25);
    expect(details).toMatch(/line 39$/);
    expect(createCommandError('s', 'c', { stdout: 'only this', stderr: ' ', code: 1 }).failure.details).toBe(
      'only this',
    );
  });
});
