import { describe, expect, it } from 'vitest';
import { help, parseInvocation } from './arguments.ts';

const plain = {
  simulated: false,
  kubeconfig: undefined,
  registry: undefined,
  nodes: 1,
  demo: true,
  observability: undefined,
};

describe('the command line', () => {
  it.each([
    [['up'], plain],
    [['up', '--simulated'], { ...plain, simulated: true }],
    [['up', '--nodes', '2'], { ...plain, nodes: 2 }],
    [['up', '--no-demo'], { ...plain, demo: false }],
    [['up', '--observability'], { ...plain, observability: true }],
    [['up', '--no-observability'], { ...plain, observability: false }],
    [['up', '--kubeconfig', 'k', '--registry=h/p'], { ...plain, kubeconfig: 'k', registry: 'h/p' }],
  ])('parses %j', (args, options) => {
    expect(parseInvocation(args)).toEqual({ command: 'up', options });
  });

  it.each([[['down']], [['status']], [['help']]])('%j is a command', (args) => {
    expect(parseInvocation(args)).toEqual({ command: args[0] });
  });

  it.each([[[]], [['--help']], [['up', '--help']], [['down', '-h']]])('%j asks for help', (args) => {
    expect(parseInvocation(args)).toEqual({ command: 'help' });
  });

  it.each([
    [['rise'], /unknown command: rise/],
    [['up', '--fast'], /--fast/],
    [['down', '--now'], /down takes no options: --now/],
    [['up', '--simulated', '--kubeconfig', 'k'], /choose/],
    [['up', '--observability', '--simulated'], /on the local node/],
    [['up', '--observability', '--kubeconfig', 'k'], /on the local node/],
    [['up', '--nodes', '0'], /--nodes is one of 1, 2, 3/],
    [['up', '--nodes', '4'], /--nodes is one of 1, 2, 3/],
    [['up', '--nodes', 'two'], /--nodes is one of 1, 2, 3/],
    [['up', '--nodes', '2', '--simulated'], /to the local node/],
    [['up', '--registry', 'h/p'], /--registry goes with --kubeconfig/],
    [['up', 'extra'], /extra/],
  ])('rejects %j with a reason', (args, problem) => {
    const invocation = parseInvocation(args);
    expect(invocation.command).toBe('wrong');
    expect(invocation).toHaveProperty('problem', expect.stringMatching(problem));
  });

  it('names every option in the help', () => {
    const options = [
      '--simulated',
      '--kubeconfig',
      '--registry',
      '--nodes',
      '--no-demo',
      '--observability',
      '--no-observability',
    ];
    for (const option of options) expect(help).toContain(option);
  });
});
