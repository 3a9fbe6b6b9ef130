import { expect, it } from 'vitest';
import { parseHibernationsArguments } from './arguments.ts';

it('parses every option', () => {
  const args = [
    'refresh',
    '--node',
    'a',
    '-n',
    'team-a',
    '--all',
    '--concurrency',
    '8',
    '--timeout',
    '1m30s',
    '-o',
    'json',
  ];
  expect(parseHibernationsArguments(args)).toEqual({
    command: 'refresh',
    node: 'a',
    namespace: 'team-a',
    all: true,
    concurrency: 8,
    limitMs: 90_000,
    json: true,
    kubeconfig: undefined,
  });
});

it.each([
  [[], '"hibernations " is no command'],
  [['drop'], '"hibernations drop" is no command'],
  [['refresh', '--concurrency', '0'], '--concurrency takes a number from 1 to 64, not "0"'],
  [['refresh', '--timeout', 'soon'], '--timeout takes a duration such as 3m, not "soon"'],
  [['list', '-o', 'yaml'], '-o takes text or json, not "yaml"'],
  [['list', '--nodes'], "Unknown option '--nodes'"],
])('rejects %j with a message', (args, problem) => {
  expect(() => parseHibernationsArguments(args)).toThrow(problem);
});
